/** Webhooks through the client that sends them in earnest: where it goes, and where it doesn't. */
import assert from "@std/assert";
import http from "node:http";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { commandLine } from "../../src/audit/audit.ts";
import { createUuidv7 } from "../../src/base/ids.ts";
import { createLog } from "../../src/base/log.ts";
import type { Database } from "../../src/database/database.ts";
import { type Lookup, publicConnector } from "../../src/vendors/public_agents.ts";
import { createPublicFetch, type PublicFetchDeps } from "../../src/vendors/public_fetch.ts";
import { createWebhooks } from "../../src/webhooks/wire.ts";
import { eachDatabase } from "../support/databases.ts";
import { FakeTimers } from "../support/fake_timers.ts";
import { testCertificate, testCertificateKey } from "../support/service_certificate.ts";
import { newAccount } from "./samples.ts";
import { isDue, masterKeys, sendWhile } from "./webhook_process.ts";

const publicAddress = "93.184.215.14";
const notFetched = "the URL can't be fetched: it must be a public https URL that responds";
const second = 1_000;

interface Request {
  path: string;
  headers: Record<string, string>;
  body: string;
}

/** A receiver on loopback. `answer`: what `/hook` says next. */
async function withReceiver(
  create: (listener: http.RequestListener) => http.Server,
  run: (receiver: {
    requests: Request[];
    port: number;
    answer: { status: number; headers: Record<string, string> };
  }) => Promise<void>,
): Promise<void> {
  const requests: Request[] = [];
  const answer = { status: 204, headers: {} };
  const server = create(async (request, response) => {
    const body = await text(request);
    const headers = request.headers as Record<string, string>;
    requests.push({ path: request.url ?? "", headers, body });
    // Where a redirect leads, all is well: who follows it takes the event for sent.
    const isHook = request.url?.startsWith("/hook");
    response.writeHead(isHook ? answer.status : 204, isHook ? answer.headers : {}).end();
  });
  await new Promise<void>((listens) => server.listen(0, "127.0.0.1", listens));
  try {
    await run({ requests, answer, port: (server.address() as AddressInfo).port });
  } finally {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  }
}

/** A process whose webhooks go through the real `PublicPost`, with a webhook of one account. */
async function sending(
  database: Database,
  url: string,
  { allowHosts, ...network }: Pick<PublicFetchDeps, "allowHosts" | "resolve" | "connector">,
) {
  // Timers that nothing moves: on a slow machine no time runs out either.
  const timers = new FakeTimers();
  const { clock } = timers;
  const client = createPublicFetch({ ...network, allowHosts, clock, setTimer: timers.later });
  const keys = masterKeys();
  const deps = {
    ...{ database, clock, allowHosts, newId: createUuidv7(clock), workerId: "one/1" },
    masterKey: () => Promise.resolve(keys),
    downVendors: () => [],
    log: createLog(() => {}, clock.now),
  };
  const { webhooks } = createWebhooks(deps);
  const { webhook, secret } = await webhooks.add({
    ...{ accountId: await newAccount(database), url, events: [], creditLowNanos: null },
  }, commandLine);
  const send = async () => {
    await sendWhile({ ...deps, post: client.post }, () => isDue(database, clock.now()));
    assert.equal(timers.pending, 0, "no timer is left behind");
    return (await webhooks.find(webhook.id))!;
  };
  return {
    ...{ clock, send },
    test: async () => {
      assert.equal(await webhooks.test(webhook.id), true);
      return await send();
    },
    change: (to: { url?: string; events?: string[] }) =>
      webhooks.change(webhook.id, to, commandLine),
    verify: ({ body, headers }: Request) => verified(secret.reveal(), body, headers),
  };
}

/** By the receivers' package, whose tolerance is of the real clock. */
function verified(secret: string, body: string, headers: Record<string, string>): unknown {
  const real = Date.now;
  Date.now = () => Number(headers["webhook-timestamp"]) * 1000;
  try {
    return new StandardWebhook(secret).verify(body, headers);
  } finally {
    Date.now = real;
  }
}

eachDatabase(
  "a name that stands for a private address is refused when it is sent to, whatever it stood for before",
  (database) => {
    const certificate = { cert: testCertificate, key: testCertificateKey };
    return withReceiver(
      (listener) => https.createServer(certificate, listener),
      async ({ requests, port }) => {
        let found: readonly string[] = [publicAddress];
        const connectedTo: string[] = [];
        // The receiver stands for every address that passed the client's own lookup.
        const ledHere = (lookup: Lookup): Lookup => (name, _, done) =>
          lookup(name, { all: true }, (error, addresses) => {
            if (error) return done(error, []);
            for (const { address } of addresses as { address: string }[]) connectedTo.push(address);
            done(null, [{ address: "127.0.0.1", family: 4 }]);
          });
        const one = await sending(database, "https://localhost/hook", {
          allowHosts: [],
          resolve: () =>
            Promise.resolve(
              found.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
            ),
          connector: (lookup) => {
            const connector = publicConnector({ lookup: ledHere(lookup), ca: testCertificate });
            return (asked, read, done) => connector({ ...asked, port: String(port) }, read, done);
          },
        });
        const arrived = await one.test();
        assert.deepEqual([arrived.lastError, arrived.waiting], [null, 0]);
        assert.deepEqual(connectedTo, [publicAddress]);
        assert.equal(requests.length, 1);
        one.verify(requests[0]!);
        const privates = [
          ...[["127.0.0.1"], ["10.0.0.7"], ["169.254.169.254"], ["::1"], ["fd00::1"]],
          [publicAddress, "192.168.0.1"],
        ];
        for (const addresses of privates) {
          found = addresses;
          one.clock.advance(second);
          const { lastError, lastFailedAt } = await one.test();
          assert.deepEqual([lastError, lastFailedAt], [notFetched, one.clock.now()], `${found}`);
        }
        assert.deepEqual([connectedTo, requests.length], [[publicAddress], 1]);
        // Once the name is public again, all that waited arrives.
        found = [publicAddress];
        one.clock.advance(60 * second);
        const { waiting, lost } = await one.send();
        assert.deepEqual([waiting, lost, requests.length], [0, 0n, 1 + privates.length]);
      },
    );
  },
);

eachDatabase(
  "a redirect is not followed: it is a failure, and the same event is sent again",
  (database) =>
    withReceiver((listener) => http.createServer(listener), async (receiver) => {
      const { requests, answer, port } = receiver;
      const here = `http://127.0.0.1:${port}`;
      const one = await sending(database, `${here}/hook`, { allowHosts: [`127.0.0.1:${port}`] });
      const pauses = [5, 30, 120, 600, 1800];
      for (const [at, status] of [301, 302, 303, 307, 308].entries()) {
        Object.assign(answer, { status, headers: { location: `${here}/elsewhere` } });
        const { lastError, lastSentAt, waiting } = at === 0 ? await one.test() : await one.send();
        assert.equal(lastError, `the URL answered with status ${status}`);
        assert.deepEqual([lastSentAt, waiting], [null, 1]);
        assert.equal(requests.length, at + 1);
        one.clock.advance(pauses[at]! * second);
      }
      Object.assign(answer, { status: 204, headers: {} });
      const { lastSentAt, waiting } = await one.send();
      assert.deepEqual([lastSentAt, waiting], [one.clock.now(), 0]);
      assert.deepEqual(requests.map(({ path }) => path), Array(6).fill("/hook"));
      assert.equal(new Set(requests.map(({ headers }) => headers["webhook-id"])).size, 1);
      for (const request of requests) {
        const { type } = one.verify(request) as { type: string };
        assert.equal(type, "webhook.test");
      }
    }),
);

eachDatabase(
  "waiting events go to a corrected address at once",
  (database) =>
    withReceiver((listener) => http.createServer(listener), async (receiver) => {
      const { requests, answer, port } = receiver;
      const here = `http://127.0.0.1:${port}`;
      const one = await sending(database, `${here}/hook`, { allowHosts: [`127.0.0.1:${port}`] });
      answer.status = 410;
      await one.test();
      await one.change({ events: ["webhook.test"] });
      await one.change({ url: `${here}/hook` });
      assert.equal((await one.send()).waiting, 1, "the same address is asked again in its time");
      // If that fails too, its own pauses are short again.
      await one.change({ url: `${here}/hook/2` });
      assert.equal((await one.send()).waiting, 1);
      one.clock.advance(5_000);
      assert.equal((await one.send()).waiting, 1);
      await one.change({ url: `${here}/elsewhere` });
      assert.equal((await one.send()).waiting, 0);
      const paths = requests.map(({ path }) => path);
      assert.deepEqual(paths, ["/hook", "/hook/2", "/hook/2", "/elsewhere"]);
    }),
);
