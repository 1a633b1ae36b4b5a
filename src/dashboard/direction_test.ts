import assert from "@std/assert";
import { showDirectionControls } from "./direction.ts";

Deno.test("a control of direction stands alone, outside of tags and of what holds no elements", () => {
  const page = (text: string) =>
    `<title>\u202ea</title><a title="\u202ea" href="/x">${text}</a><textarea class="x">\u2067a\n</textarea>`;
  const shown = (code: string, text: string) =>
    `<bdi class="control" data-code="${code}">${text}</bdi>`;
  assert.equal(
    showDirectionControls(page("a\u202ecba\u2069")),
    page(`a${shown("U+202E", "\u202e")}cba${shown("U+2069", "\u2069")}`),
  );
  const usual = page("שלום &lt;\u200e>").replaceAll(/[\u202e\u2067]/g, "");
  assert.equal(showDirectionControls(usual), usual);
});
