"""nipype: two nodes and a third that adds what they made. Usage: nipype_flow.py PLUGIN DIRECTORY ARGUMENTS-OF-THE-SUBMISSION."""
import sys

from nipype import Function, Node, Workflow


def double(x):
    return x * 2


def add(a, b):
    return a + b


plugin, directory, words = sys.argv[1:]
flow = Workflow(name="flow", base_dir=directory)
nodes = []
for name, value in (("a", 3), ("b", 4)):
    node = Node(Function(input_names=["x"], output_names=["out"], function=double), name=name)
    node.inputs.x = value
    nodes.append(node)
last = Node(Function(input_names=["a", "b"], output_names=["out"], function=add), name="c")
for node in nodes:
    flow.connect(node, "out", last, node.name)
key = {"S": "sbatch_args", "P": "qsub_args", "L": "bsub_args"}[plugin[0]]
flow.run(plugin=plugin, plugin_args={key: words})
