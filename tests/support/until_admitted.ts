const retryMs = 100;
const patienceMs = 120_000;

/**
 * Makes a call, again while the service sheds it: on a busy machine a crowd of calls gets 503
 * `overloaded` for some of them, before any work is done, and a client retries these. After two
 * minutes the refusal is the answer.
 */
export async function untilAdmitted(call: () => Promise<Response>): Promise<Response> {
  for (const deadlineMs = performance.now() + patienceMs;;) {
    const answer = await call();
    if (!await isShed(answer) || performance.now() > deadlineMs) return answer;
    await answer.body?.cancel();
    await new Promise((resolve) => setTimeout(resolve, retryMs));
  }
}

async function isShed(answer: Response): Promise<boolean> {
  return answer.status === 503 && (await answer.clone().text()).includes('"code":"overloaded"');
}
