import assert from "@std/assert";

const callers = 64;
const callsEach = 200;

/**
 * Whatever keeps a request that was answered costs time for each that follows: the young generation
 * copies it twice, and the old one is collected for it. Bytes are counted here, not seconds
 * (docs/decisions, 0331 and 0368).
 */
Deno.test("a request that was under way at a scavenge is gone at the next", async () => {
  const program = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "tests/http/programs/waiting_requests.ts"],
    env: { DENO_V8_FLAGS: "--expose-gc,--max-semi-space-size=4,--trace-gc-nvp" },
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  let said = "";
  const portSaid = Promise.withResolvers<string>();
  const read = (async () => {
    for await (const piece of program.stdout.pipeThrough(new TextDecoderStream())) {
      said += piece;
      const port = /port=(\d+)\n/.exec(said)?.[1];
      if (port !== undefined) portSaid.resolve(port);
    }
    portSaid.reject(new Error("the program ended"));
  })();
  try {
    const port = await portSaid.promise;
    const make = async () => {
      for (let made = 0; made < callsEach; made++) {
        const answer = await fetch(`http://127.0.0.1:${port}/chat/v1`, {
          method: "POST",
          body: "x",
        });
        assert.equal(await answer.text(), "300");
      }
    };
    await Promise.all(Array.from({ length: callers }, make));
  } finally {
    program.kill("SIGKILL");
    await program.status;
    await read;
  }
  // In the first half code is compiled, which stays.
  const all = scavengesOf(said);
  const scavenges = all.slice(Math.floor(all.length / 2));
  assert.ok(scavenges.length >= 30, `${scavenges.length} scavenges`);
  const sum = (of: (one: Scavenge) => number) => scavenges.reduce((all, one) => all + of(one), 0);
  const [kept, copied] = [sum(({ promoted }) => promoted), sum(({ survived }) => survived)];
  const figures = `${kept} of ${copied} bytes in ${scavenges.length} scavenges`;
  // What the compiler keeps counts too, up to half a per cent; of kept requests all would survive.
  assert.ok(kept < copied / 50, `what survives a scavenge survives the next: ${figures}`);
});

interface Scavenge {
  /** Bytes that survived their second scavenge. */
  promoted: number;
  /** Bytes that survived their first. */
  survived: number;
}

function scavengesOf(said: string): Scavenge[] {
  const each = said.matchAll(/"gc":"s".*?"promoted":(\d+),"new_space_survived":(\d+)/g);
  return [...each].map(([, promoted, survived]) => ({
    promoted: Number(promoted),
    survived: Number(survived),
  }));
}
