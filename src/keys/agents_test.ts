import assert from "@std/assert";
import { agentNames } from "../../contracts/admin/keys.ts";
import { visibleControls } from "../base/visible_controls.ts";
import { agentLines } from "./agents.ts";

Deno.test("Gemini CLI has sessions summed up by the model that it is pointed at", () => {
  const access = { baseUrl: "http://127.0.0.1:8787", key: "dmt_x", model: "openai/gpt-5.6-sol" };
  const [, settings, ...shell] = agentLines("gemini-cli", access);
  const { modelConfigs, security } = JSON.parse(settings!);
  assert.equal(security.auth.selectedType, "gemini-api-key");
  for (const name of ["chat-compression-default", "chat-compression-3-flash"]) {
    assert.deepEqual(modelConfigs.customAliases[name], { modelConfig: { model: access.model } });
  }
  assert.equal(shell.at(-1), `gemini -m ${access.model}`);
});

for (const agent of agentNames) {
  Deno.test(`${agent}'s lines can be pasted as a command prints them, settings in JSON included`, () => {
    const lines = agentLines(agent, { baseUrl: "http://127.0.0.1:8787", key: "dmt_x" });
    assert.deepEqual(lines.map(visibleControls), lines);
    for (const line of lines.filter((line) => line.startsWith("{"))) JSON.parse(line);
  });
}
