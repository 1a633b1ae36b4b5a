import type { ServerResponse } from "node:http";
import { systemClock } from "../../../src/base/clock.ts";
import { systemSetTimer } from "../../../src/base/deadline.ts";
import { Admission } from "../../../src/overload/admission.ts";
import { openTestListener } from "../../support/listener.ts";

declare const gc: (() => void) | undefined;

/**
 * Answers each request at the next tick, as calls pass here: behind the admission, with a deadline,
 * and with 12 KB that live as long as the request. Prints its port, then what V8 says of collections.
 */
const admission = new Admission({ maxUnderWay: 1_000, clock: systemClock });
const waiting: (() => void)[] = [];
setInterval(() => waiting.splice(0, 24).forEach((answer) => answer()), 5);

let answered = 0;

async function answer(outgoing: ServerResponse): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = systemSetTimer(60_000, resolve);
  const graph = Array.from({ length: 300 }, (_, at) => ({ at, resolve }));
  waiting.push(resolve);
  await promise;
  cancel();
  // A major collection amid the requests, of which there are some at all times: whatever is there is
  // old from then on.
  if (++answered === 1_000) gc?.();
  outgoing.end(`${graph.length}`);
}

const { port } = await openTestListener(() => new Response(), {}, {
  guard: () => (incoming, outgoing) => {
    incoming.resume();
    admission.enter("account", incoming, () => void answer(outgoing));
    outgoing.on("close", () => admission.ended(incoming));
  },
});
console.log(`port=${port}`);
