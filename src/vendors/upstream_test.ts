import assert from "@std/assert";
import { rejectsWith, text, until, withVendor } from "../../tests/support/upstream_setup.ts";

Deno.test("request and answer arrive unchanged", () =>
  withVendor(async ({ vendor, post }) => {
    const body = JSON.stringify({ text: "é😀" });
    const calling = post({
      body,
      headers: { "X-Api-Key": "k", Host: "evil", "Accept-Encoding": "gzip", Connection: "close" },
    });
    const exchange = await vendor.next();
    await exchange.answer(418, { ok: true }, { "X-Thing": "1" });
    const answer = await calling;
    assert.equal(answer.status, 418);
    assert.equal(answer.headers["x-thing"], "1");
    assert.equal(answer.attempts, 1);
    assert.deepEqual(answer.attemptLog, [{ status: 418, ms: 0 }]);
    assert.equal(await text(answer), '{"ok":true}');
    const { request } = exchange;
    assert.equal(`${request.method} ${request.path}`, "POST /v1/chat/completions");
    assert.equal(request.body, body);
    assert.equal(request.headers["x-api-key"], "k");
    assert.equal(request.headers["accept-encoding"], "identity");
    assert.equal(request.headers["content-length"], "17");
    assert.equal(request.headers["host"], `127.0.0.1:${vendor.port}`);
    assert.equal(request.headers["connection"], "keep-alive");
  }));

Deno.test("the answer is there with its headers, and pieces come as the vendor sends them", () =>
  withVendor(async ({ vendor, post }) => {
    const calling = post();
    const exchange = await vendor.next();
    await exchange.head(200);
    const { body } = await calling;
    const seen: string[] = [];
    const ended = Promise.withResolvers<void>();
    body.onData({
      data(chunk) {
        assert.equal(Object.getPrototypeOf(chunk), Uint8Array.prototype);
        seen.push(new TextDecoder().decode(chunk));
      },
      end: ended.resolve,
      error: ended.reject,
    });
    for (const piece of ["a", "b", "c"]) {
      await exchange.write(piece);
      await until(() => seen.at(-1) === piece);
    }
    await exchange.write("d");
    await exchange.write("e");
    await exchange.end();
    await ended.promise;
    assert.deepEqual(seen.slice(0, 3), ["a", "b", "c"]);
    // What one read brings is one piece.
    assert.equal(seen.join(""), "abcde");
  }));

Deno.test("redirects are not followed", () =>
  withVendor(async ({ vendor, post }) => {
    const calling = post();
    await (await vendor.next()).answer(307, "", { location: "/elsewhere" });
    const answer = await calling;
    assert.equal(answer.status, 307);
    await text(answer);
    assert.equal(vendor.requests.length, 1);
  }));

Deno.test("a header that HTTP can't carry is our own error and does not quote the value", () =>
  withVendor(async ({ post }) => {
    await rejectsWith(post({ headers: { "x-key": "vendor-key\r\nx: y" } }), "internal_error");
  }));
