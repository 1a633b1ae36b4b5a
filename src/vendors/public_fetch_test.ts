import assert from "@std/assert";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { FakeTimers } from "../../tests/support/fake_timers.ts";
import { testCertificate, testCertificateKey } from "../../tests/support/service_certificate.ts";
import { Fault } from "../shared/fault.ts";
import { type Lookup, publicConnector } from "./public_agents.ts";
import { createPublicFetch, type PublicFetch, type PublicPost } from "./public_fetch.ts";
import type { Connector } from "./http1/connect.ts";

const notFetched = "the URL can't be fetched: it must be a public https URL that responds";
const publicAddress = "93.184.215.14";
const { signal } = new AbortController();
const options = { key: "1", maxBytes: 1000, accept: ["image/*"], signal };

interface Site {
  /** Requests that reached the server. */
  readonly requests: { path: string; headers: Record<string, unknown> }[];
  /** Addresses that connections were made to, as the program believes. */
  readonly connectedTo: string[];
  /** Names that were looked up. */
  readonly resolved: string[];
  readonly port: number;
  readonly client: PublicFetch & PublicPost;
}

/**
 * An https server on loopback which stands for every public address: connections that passed the
 * client's own lookup are led to it. `answers`: what looking up a name gives, one after the other.
 */
async function withSite(
  answers: readonly (readonly string[])[],
  respond: (path: string) => [status: number, headers: Record<string, string>, body?: string],
  run: (site: Site) => Promise<void>,
  allowHosts: readonly string[] = [],
): Promise<void> {
  const [requests, connectedTo, resolved]: [Site["requests"], string[], string[]] = [[], [], []];
  const certificate = { cert: testCertificate, key: testCertificateKey };
  const server = https.createServer(certificate, (request, response) => {
    requests.push({ path: request.url ?? "", headers: request.headers });
    const [status, headers, body] = respond(request.url ?? "");
    response.writeHead(status, headers).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const ledTo = (lookup: Lookup): Lookup => (name, _, done) =>
    lookup(name, { all: true }, (error, found) => {
      if (error) return done(error, []);
      for (const { address } of found as { address: string }[]) connectedTo.push(address);
      done(null, [{ address: "127.0.0.1", family: 4 }]);
    });
  const timers = new FakeTimers();
  const client = createPublicFetch({
    clock: timers.clock,
    setTimer: timers.later,
    allowHosts,
    resolve: (name) => {
      const found = answers[Math.min(resolved.length, answers.length - 1)] ?? [];
      resolved.push(name);
      return Promise.resolve(found.map((address) => ({ address, family: family(address) })));
    },
    connector: (lookup) => loopbackConnector(ledTo(lookup), port),
  });
  try {
    await run({ requests, connectedTo, resolved, port, client });
    assert.equal(timers.pending, 0, "no timer is left behind");
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

/** The real connector, but port 443 is the test server's. */
function loopbackConnector(lookup: Lookup, port: number): Connector {
  const connector = publicConnector({ lookup, ca: testCertificate });
  return (asked, ...rest) => connector({ ...asked, port: asked.port || String(port) }, ...rest);
}

function family(address: string): number {
  return address.includes(":") ? 6 : 4;
}

async function refused(fetching: Promise<unknown>, message: string = notFetched): Promise<void> {
  const thrown = await fetching.then(() => undefined, (reason: unknown) => reason);
  if (!(thrown instanceof Fault)) throw new Error(`Expected a fault, got ${thrown}`);
  assert.deepEqual([thrown.code, thrown.message], ["invalid_value", message]);
}

const picture: [number, Record<string, string>, string] = [
  200,
  { "content-type": "Image/PNG; charset=x", "set-cookie": "a=b" },
  "PNG",
];

Deno.test("a public address is fetched over verified TLS, with only the necessary headers", () =>
  withSite([[publicAddress, "2606:4700::1111"]], () => picture, async (site) => {
    const { bytes, mimeType } = await site.client.fetch("https://localhost/a?b=c#d", {
      ...options,
      accept: ["image/*", "application/pdf"],
    });
    assert.equal(new TextDecoder().decode(bytes), "PNG");
    assert.equal(mimeType, "image/png");
    assert.deepEqual(site.connectedTo, [publicAddress, "2606:4700::1111"]);
    assert.deepEqual(site.requests, [{
      path: "/a?b=c",
      headers: {
        accept: "image/*, application/pdf",
        "accept-encoding": "identity",
        "user-agent": "demeter",
        host: "localhost",
        connection: "close",
      },
    }]);
  }));

Deno.test("a name with a private address is never connected to", async (t) => {
  for (
    const answer of [
      ["127.0.0.1"],
      ["10.0.0.1"],
      ["169.254.169.254"],
      ["::1"],
      ["::ffff:127.0.0.1"],
      ["fd00::1"],
      ["64:ff9b::10.0.0.1"],
      [publicAddress, "192.168.0.1"],
      ["192.168.0.1", publicAddress],
      ["fe80::1%eth0"],
      [],
    ]
  ) {
    await t.step(
      answer.join(" and ") || "none",
      () =>
        withSite([answer], () => picture, async (site) => {
          await refused(site.client.fetch("https://localhost/", options));
          assert.deepEqual([site.resolved, site.connectedTo], [["localhost"], []]);
          assert.deepEqual(site.requests, []);
        }),
    );
  }
});

Deno.test("DNS rebinding does not help: the checked address is the one connected to, and each hop is checked again", () =>
  withSite(
    [[publicAddress], ["127.0.0.1"]],
    (path) => path === "/again" ? [302, { location: "/picture" }] : picture,
    async (site) => {
      await refused(site.client.fetch("https://localhost/again", options));
      assert.deepEqual(site.resolved, ["localhost", "localhost"]);
      assert.deepEqual(site.connectedTo, [publicAddress]);
      assert.deepEqual(site.requests.map(({ path }) => path), ["/again"]);
    },
  ));

Deno.test("a name is looked up once for a connection", () =>
  withSite([[publicAddress], ["127.0.0.1"]], () => picture, async (site) => {
    await site.client.fetch("https://localhost/", options);
    assert.deepEqual([site.resolved, site.connectedTo], [["localhost"], [publicAddress]]);
    await refused(site.client.fetch("https://localhost/", options));
    assert.equal(site.requests.length, 1, "no connection is kept from the first one");
  }));

Deno.test("a private address in the URL is refused, with no lookup and no connection", () =>
  withSite([[publicAddress]], () => picture, async (site) => {
    for (
      const host of ["127.0.0.1", "2130706433", "0x7f.1", "0177.0.0.1", "127.1", "[::1]"]
        .concat(["[::ffff:127.0.0.1]", "169.254.169.254", "u:p@localhost", "localhost:8443"])
    ) await refused(site.client.fetch(`https://${host}/`, options));
    await refused(site.client.fetch("http://localhost/", options));
    await refused(site.client.fetch("nonsense", options));
    assert.deepEqual([site.resolved, site.requests], [[], []]);
  }));

Deno.test("a redirect to what is not public is refused", async (t) => {
  for (
    const location of [
      ...["https://127.0.0.1/", "//2130706433/", "https://[::1]/", "https://169.254.169.254/x"],
      ...["http://localhost/", "https://localhost:8443/", "https://u:p@localhost/", "file:///etc"],
    ]
  ) {
    await t.step(
      location,
      () =>
        withSite([[publicAddress]], () => [302, { location }], async (site) => {
          await refused(site.client.fetch("https://localhost/start", options));
          assert.deepEqual(site.requests.map(({ path }) => path), ["/start"]);
        }),
    );
  }
});

Deno.test("three redirects are followed, a fourth is not", () =>
  withSite([[publicAddress]], (path) => {
    const left = Number(path.slice(1));
    return left === 0 ? picture : [301 + left % 2, { location: `${left - 1}` }];
  }, async (site) => {
    await site.client.fetch("https://localhost/3", options);
    await refused(
      site.client.fetch("https://localhost/4", options),
      "the URL redirects more than 3 times",
    );
    assert.deepEqual(site.requests.map(({ path }) => path).join(""), "/3/2/1/0/4/3/2/1");
  }));

Deno.test("a redirect may lead to a host that the operator allowed, and from it back", async () => {
  const redirects = (path: string): ReturnType<Parameters<typeof withSite>[1]> =>
    path === "/1"
      ? [307, { location: "https://127.0.0.1/2" }]
      : path === "/2"
      ? [308, { location: "https://localhost/3" }]
      : picture;
  await withSite([[publicAddress]], redirects, async (site) => {
    await site.client.fetch("https://localhost/1", options);
    assert.deepEqual(site.resolved, ["localhost", "localhost"]);
  }, ["127.0.0.1:443"]);
  await withSite([[publicAddress], ["10.0.0.1"]], redirects, async (site) => {
    await refused(site.client.fetch("https://localhost/1", options));
    assert.equal(site.requests.length, 2);
  }, ["127.0.0.1:443"]);
});

Deno.test("an allowed host may have a private address; its certificate has to be right", () =>
  withSite([["127.0.0.1"]], () => picture, async ({ client, port, requests }) => {
    await client.fetch(`https://localhost:${port}/`, options);
    await client.fetch(`https://127.0.0.1:${port}/`, options);
    await refused(client.fetch(`https://files.internal:${port}/`, options));
    assert.equal(requests.length, 2);
  }, ["localhost", "127.0.0.1", "files.internal"]));

Deno.test("a certificate that nobody vouches for is refused by what is used in production", () =>
  withSite([[publicAddress]], () => picture, async ({ port, requests }) => {
    const client = createPublicFetch({ clock: new FakeTimers().clock, allowHosts: ["127.0.0.1"] });
    await refused(client.fetch(`https://127.0.0.1:${port}/`, options));
    assert.equal(requests.length, 0);
  }));

Deno.test("the runtime uses the configured lookup, and connects nowhere when that refuses", async () => {
  const timers = new FakeTimers();
  const resolve = () => Promise.resolve([{ address: "127.0.0.1", family: 4 }]);
  const client = createPublicFetch({
    clock: timers.clock,
    setTimer: timers.later,
    allowHosts: [],
    resolve,
  });
  const thrown = await client.fetch("https://localhost/", options).catch((one: Fault) => one);
  // Had it connected, the note would hold the system's code for a closed port.
  assert.deepEqual([(thrown as Fault).message, (thrown as Fault).note], [notFetched, "not_public"]);
});

Deno.test("nothing is posted to an address that may not be fetched", () =>
  withSite([["10.0.0.1"]], () => picture, async ({ client, requests, resolved }) => {
    const post = (address: string) =>
      refused(client.post(address, {
        ...{ key: "1", headers: {}, body: new Uint8Array(1), timeoutMs: 1000, signal },
      }));
    for (const address of ["http://localhost/", "https://127.0.0.1/", "no address"]) {
      await post(address);
    }
    assert.deepEqual(resolved, []);
    await post("https://localhost/");
    assert.deepEqual(requests, []);
  }));
