import assert from "@std/assert";
import { createPermit } from "./public_target.ts";

Deno.test("by its looks only https on its own port to what may be public is fetched", () => {
  const permit = createPermit([]);
  for (
    const address of [
      "https://example.com/a.png?b=c#d",
      "HTTPS://Example.COM:443/",
      "https://8.8.8.8/",
      "https://[2606:4700::1111]/",
      "https://134744072/",
    ]
  ) assert.equal(permit(address)?.trusted, false, address);
  for (
    const address of [
      ...["", "example.com", "/a.png", "//example.com/", "https://", "https:// /"],
      ...["http://example.com/", "ftp://example.com/", "file:///etc/passwd", "data:,x", "gopher:x"],
      ...["https://example.com:8443/", "https://example.com:80/", "https://example.com:22/"],
      ...["https://user@example.com/", "https://user:word@example.com/", "https://:w@example.com/"],
      `https://example.com/${"a".repeat(8000)}`,
    ]
  ) assert.equal(permit(address), undefined, address);
});

Deno.test("a private address is refused however it is written", () => {
  const permit = createPermit([]);
  const hosts = ["127.0.0.1", "2130706433", "0x7f000001", "017700000001", "0177.0.0.1", "0x7f.1"]
    .concat(["127.1", "127.0.0.1.", "①②⑦.⓪.⓪.①", "%31%32%37.0.0.1", "0", "0.0.0.0", "10.1"])
    .concat(["169.254.169.254", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376"])
    .concat(["[::1]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::7f00:1]"])
    .concat(["[64:ff9b::127.0.0.1]", "[2002:7f00:1::]", "[fd00:ec2::254]", "[fe80::1]", "[::]"]);
  for (const host of hosts) {
    assert.notEqual(URL.parse(`https://${host}/`), null, host);
    assert.equal(permit(`https://${host}/`), undefined, host);
  }
});

Deno.test("hosts that the operator allowed may be private, on any port unless one is named", () => {
  const permit = createPermit([
    "Files.internal",
    "10.0.0.7:9000",
    "[::1]:8080",
    "fd00::5",
    "0x7f.1",
  ]);
  const trusted = ["http://files.internal/", "https://files.internal./", "http://FILES.internal:9/"]
    .concat(["http://10.0.0.7:9000/a", "https://10.0.0.7:9000/", "http://167772167:9000/"])
    .concat(["http://[::1]:8080/", "http://[0:0:0:0:0:0:0:1]:8080/", "https://[fd00::5]:1/"])
    .concat(["http://127.0.0.1:5/"]);
  for (const address of trusted) assert.equal(permit(address)?.trusted, true, address);
  const refused = [
    "http://10.0.0.7/",
    "https://10.0.0.7/",
    "https://10.0.0.8:9000/",
    "http://[::1]/",
  ]
    .concat(["http://a.files.internal/", "http://files.internal.evil/", "ftp://files.internal/"])
    .concat(["http://u:p@files.internal/", "http://files.internal@evil.example/"]);
  for (const address of refused) assert.equal(permit(address), undefined, address);
  assert.equal(permit("https://a.files.internal/")?.trusted, false);
});

Deno.test("an allowed host's default port is one like any other", () => {
  const permit = createPermit(["a.internal:443", "b.internal:80"]);
  assert.equal(permit("https://a.internal/")?.trusted, true);
  assert.equal(permit("http://a.internal/"), undefined);
  assert.equal(permit("http://b.internal:80/")?.trusted, true);
  assert.equal(permit("https://b.internal/")?.trusted, false);
});

Deno.test("a redirect's URL is resolved relative to the previous one, and checked again", () => {
  const permit = createPermit([]);
  const base = new URL("https://example.com/a/b");
  assert.equal(permit("../c", base)?.url.href, "https://example.com/c");
  assert.equal(permit("//other.example/d", base)?.url.href, "https://other.example/d");
  for (const location of ["//127.0.0.1/", "http:/x", "http://example.com/", "javascript:1"]) {
    assert.equal(permit(location, base), undefined, location);
  }
});

Deno.test("an invalid host is refused when the client is created", () => {
  for (
    const entry of ["", ":80", "a:99999", "a b", "a/b", "http://a", "[::1", "a:b", "::g", "u@a"]
  ) {
    assert.throws(() => createPermit([entry]), RangeError, entry);
  }
});
