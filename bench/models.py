"""Whole models for benchmarks: torchvision's topologies with seeded random weights, as ONNX and as NNEF.

make(folder, name) leaves in folder/name:
    model.onnx             what the peers load
    nnef/                  the same as nnef-tools converts it; or, where it cannot,
    model.json             the same as TVM's ONNX frontend imports it
    input.npy, output.npy  an input, and what PyTorch makes of it
"""
import pathlib
import subprocess
import sys

NAMES = ["resnet18", "resnet50", "mobilenet_v2", "mobilenet_v3_large", "efficientnet_b0", "squeezenet1_1", "densenet121",
         "shufflenet_v2_x1_0", "googlenet", "vit_b_16"]
# Older operator sets convert best; attention needs a newer one.
OPSETS = (13, 17)


def network(name):
    import torch
    import torchvision
    torch.manual_seed(7)
    model = torchvision.models.get_model(name, weights=None).eval()
    with torch.no_grad():
        for module in model.modules():
            # As initialised, these would be identities.
            if isinstance(module, torch.nn.BatchNorm2d):
                module.running_mean.normal_(0, 0.05)
                module.running_var.uniform_(0.9, 1.1)
        for parameter in model.parameters():
            if parameter.dim() > 1 and not parameter.any():
                parameter.normal_(0, 0.05)
    return model


def export(model, image, path):
    import torch
    for opset in OPSETS:
        try:
            torch.onnx.export(model, image, str(path), input_names=["input"], output_names=["output"], opset_version=opset,
                              dynamo=False)
            return
        except torch.onnx.errors.UnsupportedOperatorError:
            path.unlink(missing_ok=True)
    raise RuntimeError(f"no ONNX form with operator sets {OPSETS}")


def convert(onnx_path, folder):
    """True when nnef-tools wrote a model."""
    command = [sys.executable, "-m", "nnef_tools.convert", "--input-format", "onnx", "--output-format", "nnef", "--input-model",
               onnx_path, "--output-model", folder, "--keep-io-names", "--optimize"]
    return subprocess.run(command, capture_output=True).returncode == 0 and (folder / "graph.nnef").exists()


def import_by_tvm(onnx_path, json_path):
    import onnx
    import tvm
    from tvm.relax.frontend.onnx import from_onnx
    json_path.write_text(tvm.ir.save_json(from_onnx(onnx.load(onnx_path))))


def make(folder, name):
    """The model's folder; what is there already stays."""
    import numpy as np
    import torch
    here = pathlib.Path(folder, name)
    if (here / "output.npy").exists():
        return here
    here.mkdir(parents=True, exist_ok=True)
    model = network(name)
    image = torch.randn(1, 3, 224, 224, generator=torch.Generator().manual_seed(11))
    with torch.no_grad():
        result = model(image)
    export(model, image, here / "model.onnx")
    if not convert(here / "model.onnx", here / "nnef"):
        import_by_tvm(here / "model.onnx", here / "model.json")
    np.save(here / "input.npy", image.numpy())
    np.save(here / "output.npy", result.numpy())
    return here


def ours(here):
    """What nnefc compiles."""
    return here / "nnef" if (here / "nnef/graph.nnef").exists() else here / "model.json"
