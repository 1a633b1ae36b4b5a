import assert from "@std/assert";
import { callControl, callExport, serveControl } from "./control.ts";

/** Connects a data directory to a listener in the place of a server; returns how often it was asked. */
async function serverThat(
  answer: (connection: Deno.Conn) => Promise<unknown>,
  test: (dataDir: string) => Promise<void>,
): Promise<number> {
  const dataDir = await Deno.makeTempDir({ prefix: "control-" });
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  let asked = 0;
  const serving = (async () => {
    for await (const connection of listener) {
      asked++;
      await connection.read(new Uint8Array(4096));
      await answer(connection);
      connection.close();
    }
  })();
  try {
    const path = `${dataDir}/control.json`;
    await Deno.writeTextFile(path, "");
    const { dev, ino } = await Deno.stat(path);
    const address = `http://127.0.0.1:${listener.addr.port}`;
    await Deno.writeTextFile(
      path,
      JSON.stringify({ address, token: "secret", file: `${dev} ${ino}` }),
    );
    await test(dataDir);
  } finally {
    listener.close();
    await serving;
    await Deno.remove(dataDir, { recursive: true });
  }
  return asked;
}

const grant = ["credits", "grant", "--usd", "100"];
const half = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{";

for (const [when, answered] of [["before", ""], ["within", half]] as const) {
  Deno.test(`a server that is killed ${when} its answer may have run the command: it is not run again`, async () => {
    const asked = await serverThat(
      (connection) => connection.write(new TextEncoder().encode(answered)),
      async (dataDir) => {
        await assert.rejects(
          () => callControl(dataDir, grant),
          /^Error: The server ended before it answered. .* check that before you repeat it/,
        );
      },
    );
    assert.equal(asked, 1);
  });
}

Deno.test("an export during which the server is killed says so", async () => {
  await serverThat(
    (connection) => connection.write(new TextEncoder().encode(half)),
    async (dataDir) => {
      const events = await callExport(dataDir, ["export"], false);
      await assert.rejects(
        Array.fromAsync(events!),
        /^Error: The server ended before the export did/,
      );
    },
  );
});

Deno.test("a control file that a killed server has left means that there is none", async () => {
  let left = "";
  await serverThat(() => Promise.resolve(), async (dataDir) => {
    left = await Deno.readTextFile(`${dataDir}/control.json`);
  });
  const dataDir = await Deno.makeTempDir({ prefix: "control-" });
  try {
    const path = `${dataDir}/control.json`;
    await Deno.writeTextFile(path, "");
    const { dev, ino } = await Deno.stat(path);
    await Deno.writeTextFile(path, left.replace(/"file":"[^"]*"/, `"file":"${dev} ${ino}"`));
    assert.equal(await callControl(dataDir, grant), undefined);
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});

/** The other loopback address, on machines that have it. */
const other = hasAddress("::1") ? "::1" : "127.0.0.1";

Deno.test("without the first loopback address, commands are taken at the other", async () => {
  const dataDir = await Deno.makeTempDir({ prefix: "control-" });
  // The first is reserved for documentation: no machine has it.
  const control = await serveControl(dataDir, {} as never, ["192.0.2.1", other]);
  try {
    const answer = await callControl(dataDir, ["fly"]);
    assert.match(String(answer?.lines), /^Unknown command 'fly'/);
  } finally {
    await control.close();
    await Deno.remove(dataDir, { recursive: true });
  }
});

function hasAddress(hostname: string): boolean {
  try {
    Deno.listen({ hostname, port: 0 }).close();
    return true;
  } catch {
    return false;
  }
}
