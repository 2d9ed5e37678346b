"""The algebra of AUC-RLS (Pahikkala et al. 2008): squares over every pair, in closed form."""
