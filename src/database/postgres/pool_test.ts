import assert from "@std/assert";
import { Fault } from "../../shared/fault.ts";
import { type Connection, Pool } from "./pool.ts";

/** A connection whose session opens, or fails, as the test says. */
class FakeConnection implements Connection {
  gone = false;
  readonly opened = Promise.withResolvers<void>();

  ready(): Promise<void> {
    return this.opened.promise;
  }

  end(): Promise<void> {
    this.gone = true;
    return Promise.resolve();
  }
}

function setUp(size: number, { isUp = true, unusedMs = 60_000 } = {}) {
  const made: FakeConnection[] = [];
  const pool = new Pool(() => {
    const connection = new FakeConnection();
    if (isUp) connection.opened.resolve();
    made.push(connection);
    return connection;
  }, { size, waitMs: 5000, unusedMs });
  return { pool, made };
}

/** Waits until the pool has made this many connections. */
async function untilMade(made: readonly FakeConnection[], count: number): Promise<void> {
  for (let tries = 0; made.length < count; tries++) {
    assert.ok(tries < 5000, "the pool makes no other connection");
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

const failure = (code: string) => Object.assign(new Error(code), { code });
const isAway = (thrown: unknown) => thrown instanceof Fault && thrown.code === "store_unavailable";

Deno.test("connections are made as they are needed, up to the limit, and used again", async () => {
  const { pool, made } = setUp(2);
  for (let times = 0; times < 5; times++) await pool.use(() => Promise.resolve());
  assert.equal(made.length, 1);
  const two = Promise.withResolvers<void>();
  let running = 0;
  let most = 0;
  await Promise.all(Array.from({ length: 20 }, () =>
    pool.use(async () => {
      most = Math.max(most, ++running);
      if (running === 2) two.resolve();
      await two.promise;
      running--;
    })));
  assert.deepEqual({ most, made: made.length }, { most: 2, made: 2 });
  await pool.close();
});

Deno.test("callers at the same moment share a connection that is lent for short", async () => {
  const { pool, made } = setUp(10);
  await Promise.all(Array.from({ length: 20 }, () => pool.use(() => Promise.resolve())));
  assert.equal(made.length, 1);
  await pool.close();
});

Deno.test("a connection is nobody else's until its work ends, also when that fails", async () => {
  const { pool, made } = setUp(1);
  const first = Promise.withResolvers<void>();
  const order: string[] = [];
  const one = pool.use(async () => {
    await first.promise;
    order.push("one");
    throw new Error("of the work");
  });
  const two = pool.use(() => Promise.resolve(order.push("two")));
  first.resolve();
  await assert.rejects(one, /of the work/);
  await two;
  assert.deepEqual(order, ["one", "two"]);
  assert.equal(made.length, 1);
  await pool.close();
});

Deno.test("the first connection that fails fails everyone who waits", async () => {
  const { pool, made } = setUp(1, { isUp: false });
  const uses = [1, 2, 3].map(() => pool.use(() => Promise.resolve()));
  const refused = failure("ECONNREFUSED");
  made[0]!.opened.reject(refused);
  for (const use of uses) await assert.rejects(use, refused);
  await assert.rejects(pool.use(() => Promise.resolve()), refused, "no other is tried at once");
  assert.equal(made.length, 1);
  await pool.close();
});

Deno.test("a full server's refusal waits for a connection that there is", async () => {
  const { pool, made } = setUp(3, { isUp: false });
  const holding = Promise.withResolvers<void>();
  const first = pool.use(() => holding.promise);
  made[0]!.opened.resolve();
  const second = pool.use((connection) => Promise.resolve(connection));
  await untilMade(made, 2);
  made[1]!.opened.reject(failure("53300"));
  await Promise.resolve();
  const third = pool.use((connection) => Promise.resolve(connection));
  holding.resolve();
  await first;
  assert.equal(await second, made[0]);
  assert.equal(await third, made[0]);
  await pool.close();
});

Deno.test("a full server that has accepted no connection is an error", async () => {
  const { pool, made } = setUp(3, { isUp: false });
  const full = failure("53300");
  const use = pool.use(() => Promise.resolve());
  made[0]!.opened.reject(full);
  await assert.rejects(use, full);
  await pool.close();
});

Deno.test("an abandoned connection is not used again", async () => {
  const { pool, made } = setUp(1);
  const next = pool.use((connection) => connection.end());
  const waiting = pool.use((connection) => Promise.resolve(connection));
  await next;
  assert.equal(await waiting, made[1]);
  assert.equal(made.length, 2);
  await pool.close();
});

Deno.test("when the server is lost, its idle connections are closed and waiting callers get an error", async () => {
  const { pool, made } = setUp(1);
  await pool.use(() => Promise.resolve());
  const lost = failure("CONNECT_TIMEOUT");
  pool.lost(lost);
  assert.equal(made[0]!.gone, true);
  await assert.rejects(pool.use(() => Promise.resolve()), lost);
  await pool.close();
});

Deno.test("a connection that was lent when the server was lost is not lent again", async () => {
  const { pool, made } = setUp(2);
  const holding = Promise.withResolvers<void>();
  const lent = pool.use(() => holding.promise);
  await Promise.resolve();
  pool.lost(failure("25006"));
  holding.resolve();
  await lent;
  assert.equal(made[0]!.gone, true);
  await pool.close();
});

Deno.test("closing lets work end, refuses more, and ends every connection", async () => {
  const { pool, made } = setUp(1);
  const holding = Promise.withResolvers<void>();
  const work = pool.use(() => holding.promise);
  const waiting = pool.use(() => Promise.resolve());
  const closed = pool.close();
  await assert.rejects(waiting, isAway);
  await assert.rejects(pool.use(() => Promise.resolve()), isAway);
  assert.equal(made[0]!.gone, false);
  holding.resolve();
  await work;
  await Promise.all([closed, pool.close()]);
  assert.equal(made[0]!.gone, true);
});

Deno.test("connections that nobody uses are ended, and one that is in use is not", async () => {
  const { pool, made } = setUp(3, { unusedMs: 1 });
  const work = Promise.withResolvers<void>();
  const held = pool.use(() => work.promise);
  const others = [1, 2].map(() => pool.use(() => untilMade(made, 3)));
  await Promise.all(others);
  for (let tries = 0; !made[1]!.gone || !made[2]!.gone; tries++) {
    assert.ok(tries < 5000, "the sweep doesn't end them");
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  assert.deepEqual(made.map(({ gone }) => gone), [false, true, true]);
  work.resolve();
  await held;
  assert.equal(await pool.use((connection) => Promise.resolve(connection)), made[0]);
  await pool.close();
});
