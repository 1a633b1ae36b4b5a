import assert from "@std/assert";
import { faultOfHead, faultOfTarget } from "./head.ts";

const host = ["Host", "gateway.example"];

function fault(rawHeaders: string[], httpVersionMinor = 1) {
  return faultOfHead({ rawHeaders, httpVersionMinor });
}

Deno.test("a request names one host, unless it is HTTP/1.0", () => {
  assert.equal(fault(host), undefined);
  assert.equal(fault(["x-a", "1", "hOsT", "gateway.example"]), undefined);
  assert.equal(fault(["x-a", "1", "Hosts", "gateway.example", "post", "host"]), "bad_host");
  assert.equal(fault([], 0), undefined);
  for (const minor of [0, 1]) {
    assert.equal(fault([...host, ...host], minor), "bad_host");
    assert.equal(fault(["host", "a/b"], minor), "bad_host");
  }
});

Deno.test("a host is a name or an address, and its port", () => {
  const hosts = ["a", "a.b.", "127.0.0.1:8787", "[::1]:65535", `${"a".repeat(300)}`];
  for (const one of hosts) assert.equal(fault(["host", one]), undefined, one);
  const wrong = ["", " ", "a b", "a..b", "[::1", "a:65536", "a:", "a@b", `${"a".repeat(301)}`];
  for (const one of wrong) assert.equal(fault(["host", one]), "bad_host", one);
});

Deno.test("no transfer coding but chunked is read, and no head of more than 200 headers", () => {
  const coding = (value: string) => fault(["Transfer-Encoding", value, ...host]);
  for (const value of ["chunked", "Chunked"]) assert.equal(coding(value), undefined);
  for (const value of ["gzip", "gzip, chunked", "chunked, chunked", "identity", ""]) {
    assert.equal(coding(value), "malformed", value);
  }
  // Of the same length, and another header.
  assert.equal(fault(["x-transfer-coding", "gzip", ...host]), undefined);
  const many = Array.from({ length: 199 }, (_, n) => [`x-${n}`, "1"]).flat();
  assert.equal(fault([...host, ...many]), undefined);
  assert.equal(fault([...host, ...many, "x", "1"]), "too_many_headers");
});

Deno.test("a target is a path or an absolute URL", () => {
  for (const target of ["/", "/a?b", "http://a/b", "HTTPS://a"]) {
    assert.equal(faultOfTarget(target), undefined, target);
  }
  for (const target of [undefined, "", "*", "a", "/\\a", "http:\\\\a:b", "ftp://a/b", "http://"]) {
    assert.equal(faultOfTarget(target), "malformed", String(target));
  }
});
