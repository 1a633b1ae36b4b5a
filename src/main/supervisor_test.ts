import assert from "@std/assert";
import { FakeClock } from "../base/clock.ts";
import { createHeartbeat, openSupervisor } from "./supervisor.ts";

Deno.test("systemd hears that the service is ready, alive and stopping", async () => {
  const folder = await Deno.makeTempDir({ prefix: "notify-" });
  const socket = `${folder}/notify`;
  const systemd = Deno.listenDatagram({ transport: "unixpacket", path: socket });
  const heard = async () => new TextDecoder().decode((await systemd.receive())[0]);
  const clock = new FakeClock();
  const warn = () => assert.fail("nothing to warn of");
  // A killed process left its socket.
  await Deno.writeTextFile(`${folder}/own`, "");
  const supervisor = openSupervisor({ socket, from: `${folder}/own`, clock, warn });
  supervisor.ready();
  assert.equal(await heard(), "READY=1");
  supervisor.alive();
  assert.equal(await heard(), "WATCHDOG=1");
  supervisor.alive();
  clock.advance(5_000);
  supervisor.alive();
  assert.equal(await heard(), "WATCHDOG=1");
  supervisor.stopping();
  assert.equal(await heard(), "STOPPING=1", "not a beat more than it needs");
  supervisor.close();
  systemd.close();
  await assert.rejects(Deno.stat(`${folder}/own`));
  await Deno.remove(folder, { recursive: true });
});

Deno.test("an unreachable supervisor is logged once; without one nothing is", async () => {
  const folder = await Deno.makeTempDir({ prefix: "notify-" });
  const warned = Promise.withResolvers<string>();
  const options = { from: `${folder}/own`, clock: new FakeClock(), warn: warned.resolve };
  const lost = openSupervisor({ ...options, socket: `${folder}/nobody` });
  lost.ready();
  assert.match(await warned.promise, /NOTIFY_SOCKET/);
  lost.close();
  const none = openSupervisor({ ...options, socket: undefined, warn: () => assert.fail() });
  none.ready();
  none.alive();
  none.stopping();
  none.close();
  await Deno.remove(folder, { recursive: true });
});

Deno.test("a heartbeat goes on by itself through a stop, when nobody knocks any more", async () => {
  const clock = new FakeClock();
  const beaten = Promise.withResolvers<void>();
  const heartbeat = createHeartbeat(1, clock, () => beaten.resolve());
  heartbeat.stopping();
  await beaten.promise;
  heartbeat.close();
});
