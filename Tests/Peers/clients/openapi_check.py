"""Checks an OpenAPI document with third-party tools: its form, its examples, and a server's answers against it.

Usage: openapi_check.py <document.json> <samples.json>

<samples.json>: an array of {"operation": id, "status": 200, "answer": …, "request": …}; `request` may be missing.
Prints one JSON object: {"problems": [text…], "operations": n, "examples": n, "samples": n}.
"""
import json
import sys

from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

BASE = "urn:document"
VERBS = {"get", "post", "put", "delete"}

document, samples = (json.load(open(name, encoding="utf-8")) for name in sys.argv[1:3])
problems = [f"form: {'/'.join(map(str, error.path))}: {error.message}"
            for error in OpenAPIV31SpecValidator(document).iter_errors()]
registry = Registry().with_resource(BASE, Resource.from_contents(document, default_specification=DRAFT202012))


def pointer(*steps):
    return BASE + "#/" + "/".join(str(step).replace("~", "~0").replace("/", "~1") for step in steps)


def check(value, where, *steps):
    validator = Draft202012Validator({"$ref": pointer(*steps)}, registry=registry)
    try:
        problems.extend(f"{where}: {error.json_path}: {error.message[:300]}" for error in validator.iter_errors(value))
    except Unresolvable:
        problems.append(f"{where}: the document says nothing about it")


examples = 0
for name, schema in document["components"]["schemas"].items():
    Draft202012Validator.check_schema(schema)
    for example in schema.get("examples", []):
        examples += 1
        check(example, f"example of {name}", "components", "schemas", name)

for path, item in document["paths"].items():
    for verb, operation in item.items():
        if verb not in VERBS:
            continue
        bodies = [("requestBody",)] + [("responses", status) for status in operation["responses"]]
        for steps in bodies:
            body = operation
            for step in steps:
                body = body.get(step, {})
            media = body.get("content", {}).get("application/json", {})
            if "example" in media:
                examples += 1
                check(media["example"], f"example of {operation['operationId']} {steps[-1]}",
                      "paths", path, verb, *steps, "content", "application/json", "schema")

operations = {operation["operationId"]: (path, verb)
              for path, item in document["paths"].items() for verb, operation in item.items() if verb in VERBS}

for sample in samples:
    path, verb = operations.get(sample["operation"], (None, None))
    where = f"{sample['operation']} {sample['status']}"
    if path is None:
        problems.append(f"{where}: no such operation")
        continue
    operation = document["paths"][path][verb]
    steps = ["paths", path, verb]
    if "request" in sample and ("requestBody" in operation or sample["request"]):
        check(sample["request"], f"{where} request", *steps, "requestBody", "content", "application/json", "schema")
    answer = operation["responses"].get(str(sample["status"]))
    if answer is None:
        problems.append(f"{where}: the document has no such status")
    elif "$ref" in answer:
        name = answer["$ref"].rsplit("/", 1)[1]
        check(sample["answer"], where, "components", "responses", name, "content", "application/json", "schema")
    else:
        check(sample["answer"], where, *steps, "responses", sample["status"], "content", "application/json", "schema")

print(json.dumps({"problems": problems, "operations": len(operations), "examples": examples,
                  "samples": len(samples)}), flush=True)
