import type { z } from "zod";
import { errors } from "../../contracts/kernel/errors.ts";
import { Fault } from "../shared/fault.ts";
import { validateFields } from "../shared/validate.ts";

/** The errors of a form by field; under "" the one that concerns the whole form. */
export type FieldErrors = Readonly<Record<string, string>>;

/** The faults of several fields of a form, which are shown at once. */
class FormFaults extends Error {
  constructor(readonly faults: readonly Fault[]) {
    super("Several fields of a form are invalid");
  }
}

/** Validates a form against the contract of the API's request; throws for all invalid fields. */
export function validateForm<T extends z.ZodType>(schema: T, value: unknown): z.output<T> {
  const { data, faults } = validateFields(schema, value);
  if (faults) throw new FormFaults(faults);
  return data as z.output<T>;
}

/** Reads several fields of a form; throws for all that are invalid. */
export function readAll<T extends readonly unknown[]>(
  ...reads: { [At in keyof T]: () => T[At] }
): T {
  const faults: Fault[] = [];
  const values = reads.map((read) => {
    try {
      return read();
    } catch (thrown) {
      if (!(thrown instanceof Fault)) throw thrown;
      faults.push(thrown);
      return undefined;
    }
  });
  if (faults.length > 0) throw new FormFaults(faults);
  return values as unknown as T;
}

/**
 * Does what a form asks for. Faults that the person can correct are returned for the form to show,
 * each under the field that `fieldOf` returns for its path. Other errors are thrown on.
 */
export async function submitOrExplain<T>(
  work: () => Promise<T> | T,
  fieldOf: (param: string) => string | undefined = () => undefined,
): Promise<{ done: T; fieldErrors?: undefined } | { done?: undefined; fieldErrors: FieldErrors }> {
  try {
    return { done: await work() };
  } catch (thrown) {
    const faults = thrown instanceof FormFaults ? thrown.faults : [thrown];
    const fieldErrors: Record<string, string> = {};
    for (const fault of faults) {
      if (!(fault instanceof Fault) || errors[fault.code].status >= 500) throw fault;
      const field = fault.param === undefined ? "" : fieldOf(fault.param) ?? "";
      fieldErrors[field] ??= textOf(fault);
    }
    return { fieldErrors };
  }
}

/** Returns the message without the field's path, since it is shown beside the field. */
function textOf({ message, param }: Fault): string {
  return sentence(
    param !== undefined && message.startsWith(`${param}: `)
      ? message.slice(param.length + 2)
      : message,
  );
}

/** Returns the text with a capital letter at the start, to show beside a field. */
export function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
