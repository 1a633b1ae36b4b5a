import assert from "@std/assert";
import type { Socket } from "node:net";
import { Valve } from "./valve.ts";

/** A socket that notes whether it is read. */
function setUp() {
  const socket = {
    destroyed: false,
    isRead: true,
    pause() {
      this.isRead = false;
      return this;
    },
    resume() {
      this.isRead = true;
      return this;
    },
  };
  return { socket, valve: new Valve(socket as unknown as Socket) };
}

Deno.test("a socket is read when all reasons are gone, and the runtime doesn't pause it", () => {
  const { socket, valve } = setUp();
  valve.shut("a");
  valve.shut("b");
  assert.equal(socket.isRead, false);
  assert.equal(socket.resume(), socket);
  assert.equal(socket.isRead, false, "the runtime resumes it in vain");
  valve.open("a");
  valve.open("a");
  valve.open("unknown");
  assert.equal(socket.isRead, false);
  valve.open("b");
  assert.equal(socket.isRead, true);
  valve.shut("a");
  assert.equal(socket.pause(), socket);
  valve.open("a");
  assert.equal(socket.isRead, false, "the runtime has paused it");
  valve.shut("a");
  socket.resume();
  valve.open("a");
  assert.equal(socket.isRead, true, "it has resumed it since");
});

Deno.test("without a reason the runtime pauses and resumes as it likes; a closed socket stays closed", () => {
  const { socket, valve } = setUp();
  socket.pause();
  valve.open("none");
  assert.equal(socket.isRead, false);
  socket.resume();
  assert.equal(socket.isRead, true);
  valve.shut("a");
  socket.destroyed = true;
  valve.open("a");
  assert.equal(socket.isRead, false);
});
