// The theme, the copy button, and the start of everything else.

function startTheme() {
  const button = byId("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => {
    const set = document.documentElement.dataset.theme;
    return set ? set === "dark" : system.matches;
  };
  const name = () => {
    button.textContent = isDark() ? "Light colours" : "Dark colours";
  };
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    name();
  });
  system.addEventListener("change", name);
  button.hidden = false;
  name();
}

function startCopy() {
  if (!navigator.clipboard) return;
  for (const button of document.querySelectorAll(".copy")) {
    const text = byId(button.dataset.of);
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(text); // not allowed: ready for Ctrl-C
      }
    });
    button.hidden = false;
  }
}

startTheme();
startCopy();
if (models.length) {
  startThreshold();
  startWeights();
  startPath();
}
