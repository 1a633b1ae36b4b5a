import { errors } from "../../contracts/kernel/errors.ts";
import { Fault } from "../shared/fault.ts";

/** The errors of a form by field; under "" the one that concerns the whole form. */
export type FieldErrors = Readonly<Record<string, string>>;

/**
 * Does what a form asks for. A fault that the person can correct is returned for the form to show,
 * under the field that `fieldOf` returns for the fault's path. Other errors are thrown on.
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
