#!/usr/bin/env python3
"""One engine in a process of its own, told what to do by lines on its standard input.

usage: engines.py ENGINE MODEL_FOLDER THREADS

The first line that it writes is {"ready": true, "error": E}, with the largest difference from output.npy relative to the
largest output, or {"problem": TEXT}. For each number K that it reads it runs K inferences and writes the milliseconds of each.
"""
import json
import os
import pathlib
import subprocess
import sys
import time


def onnxruntime(folder, image, threads):
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    session = ort.InferenceSession(folder / "model.onnx", options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, {"input": image})[0]


def openvino(folder, image, threads):
    import openvino
    settings = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"}
    core = openvino.Core()
    request = core.compile_model(core.read_model(folder / "model.onnx"), "CPU", settings).create_infer_request()
    return lambda: request.infer({0: image})[0]


def ncnn(folder, image, threads):
    import ncnn as library
    import numpy as np
    work = folder / "ncnn"
    if not (work / "model.ncnn.bin").exists():
        work.mkdir(exist_ok=True)
        (work / "model.onnx").write_bytes((folder / "model.onnx").read_bytes())
        shape = "[" + ",".join(map(str, image.shape)) + "]"
        subprocess.run(["pnnx", "model.onnx", f"inputshape={shape}", "fp16=0"], cwd=work, check=True, capture_output=True)
    network = library.Net()
    network.opt.num_threads = threads
    network.opt.use_fp16_packed = network.opt.use_fp16_storage = network.opt.use_fp16_arithmetic = False
    network.opt.use_bf16_storage = False
    network.load_param(str(work / "model.ncnn.param"))
    network.load_model(str(work / "model.ncnn.bin"))

    def run():
        extractor = network.create_extractor()
        extractor.input("in0", library.Mat(image[0]))
        return np.array(extractor.extract("out0")[1])
    return run


def tract(folder, image, threads):
    import tract as library
    # It runs on one thread.
    model = library.onnx().load(str(folder / "model.onnx")).into_model().into_runnable()
    return lambda: model.run([image])[0].to_numpy()


def iree(folder, image, threads):
    import iree.runtime
    compiled = folder / "iree.vmfb"
    if not compiled.exists():
        text = folder / "iree.mlir"
        subprocess.run(["iree-import-onnx", folder / "model.onnx", "--opset-version", "17", "-o", text], check=True,
                       capture_output=True)
        subprocess.run(["iree-compile", text, "-o", compiled, "--iree-hal-target-device=local",
                        "--iree-hal-local-target-device-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=host"], check=True,
                       capture_output=True)
    module = iree.runtime.load_vm_flatbuffer_file(str(compiled), driver="local-task")
    names = [name for name in module.vm_module.function_names if "$" not in name and not name.startswith("__")]
    return lambda: module[names[0]](image).to_host()


def tvm(folder, image, threads):
    """Relax's default pipeline, untuned."""
    os.environ["TVM_NUM_THREADS"] = str(threads)
    import onnx
    import tvm as library
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx
    processor = library.get_global_func("tvm.codegen.llvm.GetHostCPUName")()
    target = library.target.Target({"kind": "llvm", "mcpu": processor})
    machine = relax.VirtualMachine(library.compile(from_onnx(onnx.load(folder / "model.onnx")), target=target), library.cpu())
    argument = library.runtime.tensor(image)
    return lambda: machine["main"](argument).numpy()


ENGINES = {"onnxruntime": onnxruntime, "openvino": openvino, "ncnn": ncnn, "tract": tract, "iree": iree, "tvm": tvm}


def serve(engine, folder, threads):
    import numpy as np
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # engines print what they like

    def say(value):
        print(json.dumps(value), file=out, flush=True)

    image, expected = np.load(folder / "input.npy"), np.load(folder / "output.npy")
    try:
        run = ENGINES[engine](folder, image, threads)
        result = np.asarray(run()).reshape(expected.shape)
    except Exception as problem:  # whatever an engine cannot do, the others go on
        return say({"problem": f"{type(problem).__name__}: {problem}"[:200]})
    say({"ready": True, "error": float(np.abs(result - expected).max() / np.abs(expected).max())})
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            begin = time.perf_counter()
            run()
            times.append(1e3 * (time.perf_counter() - begin))
        say(times)


if __name__ == "__main__":
    serve(sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]))
