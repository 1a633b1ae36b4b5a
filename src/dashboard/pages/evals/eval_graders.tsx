import { parseExactly } from "../../../base/exact_json.ts";
import type { Grader } from "../../../../contracts/data/eval_request.ts";
import { invalidValue } from "../../../shared/fault.ts";
import { type Option, SelectField, type Shown, TextArea, TextField } from "../../fields.tsx";
import type { Form } from "../../form.ts";

/** The form has room for five graders; the API takes twenty. */
const graderSlots = [0, 1, 2, 3, 4] as const;

const types: readonly Option[] = [
  ["contains", "Contains text"],
  ["exact", "Equals text exactly"],
  ["regex", "Matches a regular expression"],
  ["json_schema", "Is JSON of a schema"],
  ["judge", "A model judges"],
];

/** Fields of the graders; each further grader opens under the one before. */
export function GraderFields(shown: Shown) {
  return (
    <fieldset>
      <legend>Graders</legend>
      <p class="hint">An answer passes if every grader passes it.</p>
      <GraderSlot {...shown} slot={0} />
    </fieldset>
  );
}

function GraderSlot({ slot, ...shown }: Shown & { slot: number }) {
  const id = (field: string) => `grader${slot}_${field}`;
  const next = slot + 1;
  const isOpen = graderSlots.slice(next).some((one) =>
    (shown.values[`grader${one}_type`]?.[0] ?? "") !== ""
  );
  return (
    <div class="grader">
      <SelectField
        {...shown}
        id={id("type")}
        label={`Grader ${slot + 1}`}
        options={slot === 0 ? types : [["", "None"], ...types]}
      />
      <div class="grader-text">
        <TextArea
          {...shown}
          id={id("text")}
          label={`Text, pattern, schema or prompt of grader ${slot + 1}`}
          hint="Empty: compare with the stored answer. A judge's prompt may use {{input}}, {{answer}} and {{expected}}."
        />
      </div>
      <div class="grader-judge">
        <TextField
          {...shown}
          id={id("model")}
          label={`Judge's model of grader ${slot + 1}`}
          hint="Only if a model judges."
          placeholder="openai/gpt-5"
          list="models"
        />
      </div>
      {next < graderSlots.length
        ? (
          <details class="more" open={isOpen}>
            <summary>Another grader</summary>
            <div class="more-body">
              <GraderSlot {...shown} slot={next} />
            </div>
          </details>
        )
        : null}
    </div>
  );
}

export function usedSlots(form: Form): number[] {
  return graderSlots.filter((slot) => form.text(`grader${slot}_type`) !== "");
}

/** Reads the form's graders. Throws a fault for a schema that isn't JSON. */
export function readGraders(form: Form): unknown[] {
  return usedSlots(form).map((slot, index) => readGrader(form, slot, index));
}

function readGrader(form: Form, slot: number, index: number): unknown {
  const type = form.text(`grader${slot}_type`);
  const text = form.text(`grader${slot}_text`);
  switch (type) {
    case "exact":
    case "contains":
      return text === "" ? { type } : { type, value: text };
    case "regex":
      return { type, pattern: text };
    case "json_schema":
      return { type, schema: parseSchema(text, index) };
    default:
      return { type, model: form.text(`grader${slot}_model`), prompt: text };
  }
}

function parseSchema(text: string, index: number): unknown {
  try {
    return parseExactly(text);
  } catch {
    const param = `graders[${index}].schema`;
    throw invalidValue(param, "expected JSON");
  }
}

/** Returns the form's field for the path of a fault about graders; undefined for other paths. */
export function graderField(param: string, slots: readonly number[]): string | undefined {
  const [, index, field = "type"] = /^graders(?:\[(\d+)\])?(?:\.(\w+))?/.exec(param) ?? [];
  if (!param.startsWith("graders")) return undefined;
  const slot = slots[Number(index ?? 0)] ?? 0;
  return `grader${slot}_${field === "model" || field === "type" ? field : "text"}`;
}

export function graderText(grader: Grader): string {
  switch (grader.type) {
    case "exact":
      return grader.value === undefined ? "is the stored answer" : `is “${grader.value}”`;
    case "contains":
      return grader.value === undefined
        ? "contains the stored answer"
        : `contains “${grader.value}”`;
    case "regex":
      return `matches /${grader.pattern}/${grader.flags ?? ""}`;
    case "json_schema":
      return "is JSON of the schema";
    case "judge":
      return `${grader.model} judges`;
  }
}
