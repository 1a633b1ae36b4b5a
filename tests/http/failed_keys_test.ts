import assert from "@std/assert";
import { FakeClock } from "../../src/base/clock.ts";
import { mintKey } from "../../src/keys/credential.ts";
import { startTestService } from "../support/service.ts";

Deno.test("a flood of wrong keys gets Retry-After, and no valid key of its address is refused", async () => {
  await using service = await startTestService({ env: { TRUST_PROXY: "true" } });
  const unseen = await service.createKey();
  const ask = async (key: string, address = "203.0.113.7") => {
    const answer = await fetch(`${service.baseUrl}/api/v1/status`, {
      headers: { "x-forwarded-for": address, ...(key ? { authorization: `Bearer ${key}` } : {}) },
    });
    await answer.body?.cancel();
    return answer;
  };
  assert.equal((await ask(service.key)).status, 200);
  const clock = new FakeClock();
  const wrong = () => mintKey(clock).value.reveal();
  const seen = new Map<number, number>();
  for (let round = 0; round < 70; round++) {
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) => ask(["", "dmt_malformed", wrong()][n % 3]!)),
    );
    for (const { status, headers } of answers) {
      seen.set(status, (seen.get(status) ?? 0) + 1);
      if (status === 429) assert.match(headers.get("retry-after") ?? "", /^[1-9]\d*$/);
    }
  }
  assert.deepEqual([...seen.keys()].sort(), [401, 429]);
  assert.ok(seen.get(401)! >= 400, "what a fleet with an old key may do");
  assert.ok(seen.get(429)! >= 100, `${seen.get(429)}`);
  assert.equal((await ask(service.key)).status, 200, "a key that was seen");
  assert.equal((await ask(unseen.key)).status, 200, "a key that nobody has used yet");
  assert.equal((await ask("", "203.0.113.8")).status, 401, "another address");
  // Lines of the log are bounded, and it says what is missing.
  const lines = service.log.filter((line) => /status=(401|429)/.test(line)).length;
  assert.ok(lines >= 100 && lines < 350, `${lines} lines`);
  assert.match(service.log.join("\n"), /were left out left_out=\d+/);
});
