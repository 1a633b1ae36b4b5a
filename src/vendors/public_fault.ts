import { Fault } from "../shared/fault.ts";

/**
 * Why an address was not fetched, in sentences that say "the address" and go behind a field's path.
 * `notFetched` is one text for what is private, unknown or doesn't answer, so that callers learn
 * nothing of the operator's network; none names what a name stands for.
 */
export const publicFault = {
  notFetched: (note: string) =>
    fault("can't be fetched: it has to be a public https address that answers", note),
  tooLarge: (maxBytes: number) => fault(`holds more than ${maxBytes} bytes`),
  wrongType: (mimeType: string, accept: readonly string[]) =>
    fault(`holds '${shown(mimeType)}'; expected ${accept.join(", ")}`),
  encoded: () => fault("answers with a content encoding that was not asked for"),
  status: (status: number) => fault(`answered with status ${status}; expected 200`),
  redirects: (max: number) => fault(`redirects more than ${max} times`),
  timedOut: (ms: number) => fault(`didn't answer completely within ${ms / 1000} seconds`),
  cut: () => fault("ended before its answer was complete"),
};

function fault(problem: string, note?: string): Fault {
  return new Fault("invalid_value", {
    message: `the address ${problem}`,
    ...(note === undefined ? {} : { note }),
  });
}

/** A foreign server's word: only what a media type is made of, and not much of it. */
function shown(mimeType: string): string {
  return mimeType.replace(/[^\w!#$&^.+/-]/g, "?").slice(0, 80);
}
