/** Faults in the words of the messages vendor. */
import { asObject, type JsonObject } from "./json.ts";
import { Problem } from "./problem.ts";
import { findFault, type Finding, type Rules } from "./rules.ts";

/** A 400 Problem `path: message`. */
export function invalid(path: string, message: string): Problem {
  return new Problem(400, path === "" ? message : `${path}: ${message}`);
}

/** Throws a 400 Problem for the first fault of `value` at `path` (empty for the body itself). */
export function require(value: unknown, rules: Rules, path: string): JsonObject {
  const object = asObject(value);
  if (object === null) throw invalid(path, "Input should be a valid dictionary");
  const fault = findFault(object, rules, true);
  if (fault) throw invalid(path === "" ? fault.field : `${path}.${fault.field}`, wordsOf(fault));
  return object;
}

function wordsOf(fault: Finding): string {
  switch (fault.what) {
    case "unknown":
      return "Extra inputs are not permitted";
    case "missing":
      return "Field required";
    case "type":
      return `Input should be a valid ${fault.expected}`;
    case "range":
      return `Input should be ${
        fault.expected.replace(">=", "greater than or equal to")
          .replace("<=", "less than or equal to")
      }`;
    case "value":
      return `Input should be '${fault.expected.split(", ").join("', '")}'`;
  }
}
