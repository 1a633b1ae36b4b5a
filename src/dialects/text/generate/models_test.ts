import assert from "@std/assert";
import { bareModel, modelTraits } from "./models.ts";

Deno.test("the generation is read from the literal name", () => {
  const cases: [string, number][] = [
    ["gemini-2.5-flash", 2.5],
    ["models/gemini-2.5-pro", 2.5],
    ["gemini-4-argon", 4],
    ["gemini-3.1-pro-preview", 3.1],
    ["gemini-3-pro-preview-11-2025", 3],
    ["gemini-2.0-flash-001", 2],
    ["gemini-1.5-pro-002", 1.5],
    ["gemini-flash-latest", 3],
    ["gemma-3-27b-it", 3],
    ["gemini-10-x", 10],
  ];
  for (const [name, generation] of cases) {
    assert.equal(modelTraits(name).generation, generation, name);
  }
});

Deno.test("thinking is asked for as the generation takes it", () => {
  const levels = (name: string) => {
    const thinking = modelTraits(name).thinking;
    return thinking.by === "level" ? thinking.levels.join() : thinking.by;
  };
  assert.equal(levels("gemini-2.0-flash"), "none");
  assert.equal(levels("gemini-2.5-flash"), "budget");
  assert.equal(levels("gemini-2.5-flash-image"), "none");
  assert.equal(levels("gemini-3-pro-preview"), "LOW,HIGH");
  assert.equal(levels("gemini-3.1-pro-preview"), "LOW,MEDIUM,HIGH");
  assert.equal(levels("gemini-3-flash"), "MINIMAL,LOW,MEDIUM,HIGH");
  assert.equal(levels("gemini-3.7-flash"), "LOW,MEDIUM,HIGH");
  assert.equal(levels("gemini-4-argon"), "LOW,MEDIUM,HIGH");
  assert.equal(levels("gemma-3-27b-it"), "none");
});

Deno.test("models/ in front of a name is taken off, however often it stands there", () => {
  assert.equal(bareModel("models/models/gemini-x"), "gemini-x");
  assert.equal(bareModel("tunedModels/mine"), "tunedModels/mine");
});
