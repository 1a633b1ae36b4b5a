/** What somebody said, as text: blocks between fences as code, the rest with its line ends. */
export function MessageText({ text }: { text: string }) {
  return (
    <>
      {partsOf(text).map(({ isCode, text }) =>
        isCode
          ? <pre class="said-code" tabindex={0} aria-label="Code"><code>{text}</code></pre>
          : <div class="said-text">{text}</div>
      )}
    </>
  );
}

/** The same as `partsOf` in assets/playground.js. */
function partsOf(text: string): { isCode: boolean; text: string }[] {
  return text.split(/^```/m).map((part, at) => {
    const isCode = at % 2 === 1;
    // What stands behind a fence names a language.
    return {
      isCode,
      text: (isCode ? part.replace(/^[^\n]*\n?/, "") : part).replace(/^\n|\n$/g, ""),
    };
  }).filter((part) => part.text !== "");
}
