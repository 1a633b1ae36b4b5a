import assert from "@std/assert";
import { isOwnHost, ownAddress, publicAddress } from "./own_address.ts";

const header = (host: string) => (name: string) => name === "host" ? host : undefined;

Deno.test("what others may see names this machine, the listener's address or BASE_URL alone", () => {
  const parts = { baseUrl: undefined, host: "192.0.2.7", secure: false };
  for (
    const [host, address] of [
      ["localhost:8787", "http://localhost:8787"],
      ["127.0.0.1:8787", "http://127.0.0.1:8787"],
      ["[::1]:8787", "http://[::1]:8787"],
      ["192.0.2.7", "http://192.0.2.7"],
      ["evil.example", ""],
      ["localhost.evil.example", ""],
      ["127.0.0.1.evil.example", ""],
      ["192.0.2.8", ""],
      ["", ""],
    ] as const
  ) assert.equal(publicAddress(parts, header(host)), address, host);
  const known = { ...parts, baseUrl: "https://gateway.example/" };
  assert.equal(publicAddress(known, header("evil.example")), "https://gateway.example");
  assert.equal(ownAddress(parts, header("lan.example:80")), "http://lan.example:80");
  assert.equal(isOwnHost("LOCALHOST", "0.0.0.0"), true);
});
