"""Where each file of the public data sets lives, and the sha256 of what is in it.

The pin is of the content: a copy packed with gzip or xz is unpacked first, so any packing will
do. Licences: `docs/papers.md`.
"""

from __future__ import annotations

from typing import NamedTuple

GITHUB = "https://raw.githubusercontent.com/"
MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist/"
UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/"


class DownloadSource(NamedTuple):
    """One file: sha256 of its unpacked content, and its address (None: see the reader)."""

    sha256: str
    url: str | None


SOURCES: dict[str, DownloadSource] = {
    "a9a/a9a": DownloadSource(
        "f5d5ffd8d865ff41328e7ee043e4b020816914ff6843ff15b98905ddbedce906",
        GITHUB + "zhengruifeng/SparkGBM/600ffe9/data/a9a",
    ),
    "a9a/a9a.t": DownloadSource(
        "1f448a153f0320399a7e40836eb207655b0bde0f21fc941cc472193daa9f5de9",
        GITHUB + "UltramanGaia/ML2017-lab-02/a83899d/data/a9a.t",
    ),
    "w8a/w8a": DownloadSource(
        "b464b4f6ce6a5d9e181ffc793e19a04751036273722312398ef7673705014902",
        GITHUB + "unc-optimization/AccSPD/d2f1f2c/data/w8a",
    ),
    "adult/adult-train.csv": DownloadSource(
        "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
        GITHUB + "jbrownlee/Datasets/d20fcb6/adult-train.csv",
    ),
    "adult/adult-test.csv": DownloadSource(
        "72567b94f5c1a6f8501377dd80f93892c3848ff071cf91ba47e00b0785a28074",
        GITHUB + "jbrownlee/Datasets/d20fcb6/adult-test.csv",
    ),
    "covtype/covtype.csv": DownloadSource(
        "ea35ca6820fcbe0bdc6707e9ed31e11a9de84f07d88da73b511c737383c271a6",
        None,
    ),
    "credit_crx/crx.data": DownloadSource(
        "30d19d99a17741347d5c638212de19a7c7d5d9fb0750e18837441a2a61cd47e7",
        GITHUB + "bdsul/grape/4b1d765/datasets/crx.data",
    ),
    "ionosphere/ionosphere.data": DownloadSource(
        "46d52186b84e20be52918adb93e8fb9926b34795ff7504c24350ae0616a04bbd",
        GITHUB + "pharmbio/KT_LUPI/6941dad/data/ionosphere.data",
    ),
    "kddcup99/kddcup.data_10_percent": DownloadSource(
        "f8c8267ebcd9c0ed1fd7d6277fe5bfff8732e9b7db8e61b873542b2a534b6f9a",
        GITHUB + "Kapetis/ST2/6d94539/kddcup.data_10_percent.gz",
    ),
    "kddcup99/corrected": DownloadSource(
        "547dfb9c0f0dc1d9944219ec79e851191faebaeb8acbfa1cd171c418397052a4",
        GITHUB + "potash/brf-example/cb1486b/data/corrected.gz",
    ),
    "letter/letter.scale": DownloadSource(
        "ce2c7df15cc5742dc4382d59079181c97c21e0beaa0af53c84cc5745c69f1020",
        GITHUB + "baowj-678/Machine-Learning/7880388/LibSVM/dataset/letter/letter.scale",
    ),
    "letter/letter.scale.t": DownloadSource(
        "07522ccbf54187fae6d560d1712b88c41ea1f7e8d19491c5adcc22ee37a075da",
        GITHUB + "baowj-678/Machine-Learning/7880388/LibSVM/dataset/letter/letter.scale.t",
    ),
    "mnist/train-images-idx3-ubyte": DownloadSource(
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        MNIST + "train-images-idx3-ubyte.gz",
    ),
    "mnist/train-labels-idx1-ubyte": DownloadSource(
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        MNIST + "train-labels-idx1-ubyte.gz",
    ),
    "optdigits/optdigits.tra": DownloadSource(
        "83b5fd08ac1e96b0509c7fbac516c0259026240b432cc738dbd746e3a8549834",
        GITHUB + "logicalapple/cs7641-Supervised-Learning/62f33c6/optdigits.tra",
    ),
    "optdigits/optdigits.tes": DownloadSource(
        "01eb9e7627f764dc96a2dc1dfcca661b33751eda5db9833e1ca531115309731e",
        GITHUB + "logicalapple/cs7641-Supervised-Learning/62f33c6/optdigits.tes",
    ),
    "pima/pima-indians-diabetes.csv": DownloadSource(
        "6bfe5d0f379d17a0e0819b996407e3c09bf80febd4287f2ed212190dfff154af",
        GITHUB + "jbrownlee/Datasets/d20fcb6/pima-indians-diabetes.csv",
    ),
    "satimage/sat.trn.txt": DownloadSource(
        "e896dc88a960fa2404160fc4c3cb3dc53fcf4afd80ba920bf2d261bd42d12613",
        UCI + "statlog/satimage/sat.trn",
    ),
    "satimage/sat.tst.txt": DownloadSource(
        "4b9167b8a92baafafed7c8809aef86d0683a5e685c19d98d119fa6974f0f2479",
        UCI + "statlog/satimage/sat.tst",
    ),
    "spectf/SPECTF.train.txt": DownloadSource(
        "9c837e4fd4b7931d9be5304989e39f284f35f767518ffd4dfd42a6a519a9f30c",
        UCI + "spect/SPECTF.train",
    ),
    "spectf/SPECTF.test.txt": DownloadSource(
        "467a65c81e14a71c029fa58bf9350ecdf28ff072303b99a832e8606e193a3882",
        UCI + "spect/SPECTF.test",
    ),
    "spectf/SPECTFincorrect.test.txt": DownloadSource(
        "7578d328624e6e2dbe7fa9ae246913f716d928469e4ba02a6ff69a52b6f3f7b8",
        UCI + "spect/SPECTFincorrect.test",
    ),
    "wdbc/wdbc.data": DownloadSource(
        "d606af411f3e5be8a317a5a8b652b425aaf0ff38ca683d5327ffff94c3695f4a",
        GITHUB + "Gsaab514/GeorgeSaab397p1/dbf81ee/CancerData/wdbc.data",
    ),
    "wpbc/wpbc.data": DownloadSource(
        "f2bd5ccdb6086fa832370dc043319907430cf6bfcfd3b96a3961a357be345c8e",
        GITHUB + "Gsaab514/GeorgeSaab397p1/dbf81ee/CancerData/wpbc.data",
    ),
    "reuters21578/reut2-000.sgm": DownloadSource(
        "03c43893e06d7abb569f1a25134af3fc0eb0fac09f0e811a04713e87de42591d",
        GITHUB + "wuodar/reuters_text_classification/f52c802/data/reut2-000.sgm",
    ),
    "reuters21578/reut2-001.sgm": DownloadSource(
        "1528e7e82d110d88d0234eb9619eadb7f9fd805711971df05975b92277dfdf4d",
        GITHUB + "wuodar/reuters_text_classification/f52c802/data/reut2-001.sgm",
    ),
    "reuters21578/reut2-002.sgm": DownloadSource(
        "99f18068d0518952987dedd78c622e5c2a584e357d264d3754696c815f3e6628",
        GITHUB + "wuodar/reuters_text_classification/f52c802/data/reut2-002.sgm",
    ),
    "reuters21578/reut2-003.sgm": DownloadSource(
        "78a3a8d7e04bc9d42c4614d5d5c60a4293dbe3f708df6fb5a71d9ef31f4b3fa3",
        GITHUB + "wuodar/reuters_text_classification/f52c802/data/reut2-003.sgm",
    ),
    "reuters21578/reut2-004.sgm": DownloadSource(
        "726342c19a65873330b412378cd6a3f0d512035f5223146ddd60930c62eb6ff0",
        GITHUB + "wuodar/reuters_text_classification/f52c802/data/reut2-004.sgm",
    ),
    "reuters21578/reut2-005.sgm": DownloadSource(
        "d09de619b6dd2d047d5124681f6df90550abaf592020d1c1ce338ae9b91522e7",
        GITHUB + "wuodar/reuters_text_classification/f52c802/data/reut2-005.sgm",
    ),
    "reuters21578/reut2-006.sgm": DownloadSource(
        "b5535c0d66b01f4976f84621a4a795afbc00d2c4bd0a1b7ae426df6630fb361d",
        GITHUB + "wuodar/reuters_text_classification/f52c802/data/reut2-006.sgm",
    ),
    "reuters21578/reut2-007.sgm": DownloadSource(
        "aa706007ec84a03537a3921ca976d60e11b3f99e4b9e9b2d5c81dd384d2c2062",
        GITHUB + "wuodar/reuters_text_classification/f52c802/data/reut2-007.sgm",
    ),
    "reuters21578/reut2-008.sgm": DownloadSource(
        "a3994583694a00b7c744097c1d7eabfcf90f2e6650cc21663e46828035a336cb",
        GITHUB + "wuodar/reuters_text_classification/f52c802/data/reut2-008.sgm",
    ),
    "reuters21578/reut2-009.sgm": DownloadSource(
        "29995f606dd1a9bdf907eacc9d879846c716860d9d9141676979474aaea39c7d",
        GITHUB + "wuodar/reuters_text_classification/f52c802/data/reut2-009.sgm",
    ),
    "reuters21578/reut2-010.sgm": DownloadSource(
        "996df6008089bd09fa5b28a4d2eb0ee5f7b9d4601cde566fed3926ac82960fa3",
        GITHUB + "wuodar/reuters_text_classification/f52c802/data/reut2-010.sgm",
    ),
    "reuters21578/reut2-011.sgm": DownloadSource(
        "d3a2782015247d9c2bffb8926267827fdd449c70d619435ef01a25a1c56a53ca",
        GITHUB + "wuodar/reuters_text_classification/f52c802/data/reut2-011.sgm",
    ),
    "reuters21578/reut2-012.sgm": DownloadSource(
        "da31035d483851f2aebce5b66d779e5e2c0ac9dcfe098596c6d544e81c5604ab",
        GITHUB + "wuodar/reuters_text_classification/f52c802/data/reut2-012.sgm",
    ),
    "reuters21578/reut2-013.sgm": DownloadSource(
        "8f7700bc0455fac3fcc12377ced4807b7df8aba1f21ecad059b9cc2b1cf0b8be",
        GITHUB + "wuodar/reuters_text_classification/f52c802/data/reut2-013.sgm",
    ),
    "reuters21578/reut2-014.sgm": DownloadSource(
        "ef936bd3e0f36cf722afa9a6957563549775af32e9e28b4f539c8737ceda83ab",
        GITHUB + "wuodar/reuters_text_classification/f52c802/data/reut2-014.sgm",
    ),
    "reuters21578/reut2-015.sgm": DownloadSource(
        "6d3bcec73eff871b8a5403588af814c4e50a0de6bc25707480522ab836f74026",
        GITHUB + "wuodar/reuters_text_classification/f52c802/data/reut2-015.sgm",
    ),
    "reuters21578/reut2-016.sgm": DownloadSource(
        "be2f03a185fff70131f3b4fdbd6229b7ee2be077eba9691eaa597c8cfbda8812",
        GITHUB + "wuodar/reuters_text_classification/f52c802/data/reut2-016.sgm",
    ),
    "reuters21578/reut2-017.sgm": DownloadSource(
        "f370e610b4b1342e41a98e0c426a08541044bd1d7e539674f32372a6060b73b5",
        GITHUB + "wuodar/reuters_text_classification/f52c802/data/reut2-017.sgm",
    ),
    "reuters21578/reut2-018.sgm": DownloadSource(
        "a5f971bf25448e915781962309e669359a35fbcaf3017a806eca0590897f209a",
        GITHUB + "wuodar/reuters_text_classification/f52c802/data/reut2-018.sgm",
    ),
    "reuters21578/reut2-019.sgm": DownloadSource(
        "d3b07097fba2633d130b4914aceba671645985248943ce9e39c289315339dffb",
        GITHUB + "wuodar/reuters_text_classification/f52c802/data/reut2-019.sgm",
    ),
    "reuters21578/reut2-020.sgm": DownloadSource(
        "f6ad1b724125c202566c63b35ea0b5ee23881f8b7ed47a32829d5af05d8e860d",
        GITHUB + "wuodar/reuters_text_classification/f52c802/data/reut2-020.sgm",
    ),
    "reuters21578/reut2-021.sgm": DownloadSource(
        "3f5196d32869723c9042aa5756805b4e90360f1f45ea17f4594fa0e2b3630b18",
        GITHUB + "wuodar/reuters_text_classification/f52c802/data/reut2-021.sgm",
    ),
}
