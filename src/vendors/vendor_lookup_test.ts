import assert from "@std/assert";
import net from "node:net";
import { text, turns, withVendor } from "../../tests/support/upstream_setup.ts";
import type { ResolvedAddress } from "./public_agents.ts";
import { vendorLookup } from "./vendor_lookup.ts";

const address = [{ address: "192.0.2.1", family: 4 }];

/** A lookup whose names are answered when the test says so. */
function world() {
  const asked: { name: string; answer(found: ResolvedAddress[]): void; fail(): void }[] = [];
  const lookup = vendorLookup((name) => {
    const { promise, resolve, reject } = Promise.withResolvers<ResolvedAddress[]>();
    asked.push({ name, answer: resolve, fail: () => reject(new Error("EAI_AGAIN")) });
    return promise;
  });
  const find = (name: string) =>
    new Promise<unknown>((resolve) =>
      lookup(name, { all: true }, (error, found) => resolve(error?.message ?? found))
    );
  return { asked, find, names: () => asked.map(({ name }) => name) };
}

Deno.test("a name whose servers don't answer is looked up twice at once, for whoever asks", async () => {
  const { asked, find, names } = world();
  const found = Array.from({ length: 100 }, () => find("dead.example"));
  const other = find("other.example");
  await turns();
  assert.deepEqual(names(), ["dead.example", "dead.example", "other.example"]);
  asked[2]!.answer(address);
  assert.deepEqual(await other, address);
  // Who waits for either has the result of the first that ends.
  asked[1]!.answer(address);
  assert.deepEqual(await Promise.all(found.slice(1)), Array(99).fill(address));
  asked[0]!.fail();
  assert.equal(await found[0], "EAI_AGAIN");
});

Deno.test("the result of a lookup is shared, not remembered", async () => {
  const { asked, find } = world();
  for (let at = 0; at < 2; at++) {
    const found = find("vendor.example");
    await turns();
    asked[at]!.answer(address);
    assert.deepEqual(await found, address);
  }
  assert.equal(asked.length, 2);
});

Deno.test("twelve lookups at once leave the runtime threads for its files", async () => {
  const { asked, find, names } = world();
  const found = Array.from({ length: 20 }, (_, at) => find(`${at}.example`));
  await turns();
  assert.equal(asked.length, 12);
  asked[0]!.answer(address);
  await found[0];
  await turns();
  assert.deepEqual(names().slice(12), ["12.example"]);
});

Deno.test("calls that need new connections share the lookups of their vendor's name", async () => {
  const server = net.createServer((socket) => {
    socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as net.AddressInfo;
  const asked: string[] = [];
  const answers = Promise.withResolvers<ResolvedAddress[]>();
  const resolve = (name: string) => {
    asked.push(name);
    return answers.promise;
  };
  await withVendor(async ({ post }) => {
    const calls = Array.from({ length: 20 }, () => post({ url: `http://vendor.example:${port}/` }));
    await turns();
    assert.deepEqual(asked, ["vendor.example", "vendor.example"]);
    answers.resolve([{ address: "127.0.0.1", family: 4 }]);
    for (const call of calls) assert.equal(await text(await call), "ok");
  }, { resolve });
  await new Promise((resolve) => server.close(resolve));
});
