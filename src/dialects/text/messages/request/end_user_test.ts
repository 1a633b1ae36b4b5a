import assert from "@std/assert";
import { readEndUser } from "./end_user.ts";

Deno.test("an agent's session is apart from its user, the account or device, in each form of the text", () => {
  const json = (fields: object) => ({ user_id: JSON.stringify(fields) });
  const rows: [unknown, object][] = [
    [json({ device_id: "d1", account_uuid: "a1", session_id: "s1" }), {
      user: "a1",
      session: "s1",
    }],
    [json({ device_id: "d1", account_uuid: "", session_id: "s1" }), { user: "d1", session: "s1" }],
    [json({ session_id: "s1" }), { session: "s1" }],
    [json({ device_id: "d1", session_id: "s".repeat(257) }), { user: "d1" }],
    [{ user_id: "user_0af1_account_6f-1_session_9c-2" }, { user: "6f-1", session: "9c-2" }],
    [{ user_id: "user_0af1_account__session_9c-2" }, { user: "0af1", session: "9c-2" }],
    // Kimi Code names its session alone.
    [{ user_id: "session_676675c7-56e0-4d9e-a82e-68676ba14ab3" }, {
      session: "session_676675c7-56e0-4d9e-a82e-68676ba14ab3",
    }],
    // Whatever else callers write is their user.
    [{ user_id: "session_676675c7" }, { user: "session_676675c7" }],
    [{ user_id: "ann" }, { user: "ann" }],
    [json({ device_id: "d1" }), { user: '{"device_id":"d1"}' }],
    [{ user_id: '{"session_id":' }, { user: '{"session_id":' }],
    [{ user_id: "user_x_account_y_session_z" }, { user: "user_x_account_y_session_z" }],
    [undefined, {}],
    [{ user_id: "" }, {}],
  ];
  for (const [metadata, expected] of rows) {
    assert.deepEqual(readEndUser(metadata), expected, JSON.stringify(metadata));
  }
});
