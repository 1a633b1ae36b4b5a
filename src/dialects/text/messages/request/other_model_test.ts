import assert from "@std/assert";
import { refusesForm } from "./other_model.ts";

Deno.test("what a listed model refuses of another one's request is seen, and nothing else", () => {
  const [old, third, recent, newest, other] = [
    ...["claude-haiku-4-5", "claude-3-opus", "claude-sonnet-4-6", "claude-opus-5-5", "other"],
  ];
  const system = [{ role: "user", content: "Hi" }, { role: "system", content: "Monday." }];
  const cases: [Record<string, unknown>, string[]][] = [
    [{ thinking: { type: "adaptive" } }, [old!, third!]],
    [{ thinking: { type: "enabled", budget_tokens: 2000 } }, [third!, newest!]],
    [{ thinking: { type: "disabled" } }, [newest!]],
    [{ output_config: { effort: "high" } }, [old!, third!]],
    [{ output_config: { format: { type: "json_schema", schema: {} } } }, [third!]],
    [{ temperature: 0.5 }, [newest!]],
    [{ tool_choice: { type: "any" } }, [newest!]],
    [{ tool_choice: { type: "auto" } }, []],
    [{ max_tokens: 100_000 }, [old!, third!]],
    [{ messages: system }, [old!, third!, recent!]],
    [{ messages: system.slice(0, 1), max_tokens: 99, temperature: null, output_config: {} }, []],
    [{ messages: "none", thinking: 1, tool_choice: [] }, []],
  ];
  for (const [body, refusing] of cases) {
    const models = [old!, third!, recent!, newest!, other!];
    assert.deepEqual(
      models.filter((model) => refusesForm(body, model)),
      refusing,
      JSON.stringify(body),
    );
  }
});
