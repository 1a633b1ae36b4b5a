import { errors } from "../../contracts/kernel/errors.ts";
import { Fault } from "../shared/fault.ts";

/** What is wrong with a form: by field, under "" what concerns the whole of it. */
export type FieldErrors = Readonly<Record<string, string>>;

/**
 * Does what a form asks for. A fault that the person can mend is given back for the form to show,
 * under the field that `fieldOf` names for the fault's path; everything else is thrown on.
 */
export async function submitOrExplain<T>(
  work: () => Promise<T> | T,
  fieldOf: (param: string) => string | undefined = () => undefined,
): Promise<{ done: T; fieldErrors?: undefined } | { done?: undefined; fieldErrors: FieldErrors }> {
  try {
    return { done: await work() };
  } catch (thrown) {
    if (!(thrown instanceof Fault) || errors[thrown.code].status >= 500) throw thrown;
    const { param } = thrown;
    return { fieldErrors: { [param === undefined ? "" : fieldOf(param) ?? ""]: textOf(thrown) } };
  }
}

/** The message without the path of the field, beside which it stands. */
function textOf({ message, param }: Fault): string {
  return sentence(
    param !== undefined && message.startsWith(`${param}: `)
      ? message.slice(param.length + 2)
      : message,
  );
}

/** With a capital letter, as it stands beside a field. */
export function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
