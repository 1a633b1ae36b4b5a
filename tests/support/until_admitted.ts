const retryMs = 100;
const patienceMs = 120_000;

/**
 * Makes a call, again while the service sheds it: on a busy machine a crowd of calls gets 503
 * `overloaded` for some of them, before any work is done, and a client retries these. After two
 * minutes the refusal is the answer.
 */
export function untilAdmitted(call: () => Promise<Response>): Promise<Response> {
  return repeated(call, /"code":"overloaded"/);
}

/**
 * Reads records, again while the service refuses that: on a busy machine it may take longer than
 * the ten seconds of a read until all calls before it are stored.
 */
export function untilStored(read: () => Promise<Response>): Promise<Response> {
  return repeated(read, /"code":"(overloaded|store_unavailable)"/);
}

async function repeated(ask: () => Promise<Response>, refusal: RegExp): Promise<Response> {
  for (const deadlineMs = performance.now() + patienceMs;;) {
    const answer = await ask();
    if (answer.status !== 503 || performance.now() > deadlineMs) return answer;
    if (!refusal.test(await answer.clone().text())) return answer;
    await answer.body?.cancel();
    await new Promise((resolve) => setTimeout(resolve, retryMs));
  }
}
