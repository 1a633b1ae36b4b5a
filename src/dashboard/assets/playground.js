// Streams answers into the page. Without this script the form is sent and the page loads again.

const talkForm = document.querySelector("form.playground");
const [turns, message, problem] = ["turns", "prompt", "problem"].map(byId);
const [send, stop, turnTemplate] = ["send", "stop", "turn"].map(byId);
const tooOld =
  "You are signed out, or this page is too old. Copy your message and reload the page.";

const unreachable = "The service can't be reached. Try again in a moment.";

const tooLong = "This conversation is too long for one page. Send less, or start over.";

talkForm?.addEventListener("submit", (event) => {
  event.preventDefault();
  // The common script lets a form be sent once only; this one is sent for every message.
  delete talkForm.dataset.sent;
  if (event.submitter?.id === "show-code") showCode();
  else if (!send.disabled) talk();
});
// Ctrl+Enter sends the form, from the message and from the system prompt.
talkForm?.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  if (event.target.localName !== "textarea") return;
  event.preventDefault();
  talkForm.requestSubmit(send);
});

async function talk() {
  const text = message.value;
  if (text.trim() === "") return message.focus();
  say("");
  for (const field of refusedFields()) field.removeAttribute("aria-invalid");
  const body = new URLSearchParams(new FormData(talkForm));
  const asked = addTurn("user");
  write(asked, text);
  const answer = addTurn("assistant");
  message.value = "";
  const stopping = new AbortController();
  stop.onclick = () => stopping.abort();
  showBusy(true);
  const failure = await stream(body, answer, stopping.signal).catch((thrown) => {
    if (!stopping.signal.aborted) return `The answer broke off: ${thrown.message}`;
    took(answer, "Stopped. The answer up to here is charged.", null);
    return "";
  });
  showBusy(false);
  if (failure !== "" && contentOf(answer).value === "") {
    answer.remove();
    asked.remove();
    if (message.value === "") message.value = text;
  }
  say(failure);
  (refusedFields()[0] ?? message).focus();
}

/** The fields that the last answer refused, as they stand in the form. */
function refusedFields() {
  return [...talkForm.querySelectorAll("[aria-invalid=true]")];
}

/** Streams one answer into the page. Returns what went wrong; an empty text if nothing did. */
async function stream(body, answer, signal) {
  const response = await post("stream", body, signal);
  if (!response) return unreachable;
  if (response.status === 413) return tooLong;
  if (!response.headers.get("content-type")?.startsWith("application/x-ndjson")) return tooOld;
  let [text, thought, failure, rest, html] = ["", "", "", "", null];
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return failure;
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    for (const event of lines.map((line) => JSON.parse(line))) {
      if (event.kind === "text") text += event.text;
      if (event.kind === "reasoning") thought += event.text;
      if (event.kind === "error") {
        failure = `${failure} ${event.message}`.trim();
        talkForm.elements[event.field]?.setAttribute("aria-invalid", "true");
      }
      if (event.kind === "end") {
        html = event.html;
        took(answer, event.summary, event.id);
      }
    }
    write(answer, text);
    if (html !== null) format(answer, html);
    think(answer, thought);
  }
}

/** Returns nothing if the service can't be reached. */
async function post(path, body, signal = new AbortController().signal) {
  try {
    return await fetch(`${talkForm.action}/${path}`, { method: "POST", body, signal });
  } catch (thrown) {
    if (signal.aborted) throw thrown;
  }
}

function addTurn(/** @type {"user" | "assistant"} */ role) {
  byId("no-turns")?.remove();
  const turn = turnTemplate.content.firstElementChild.cloneNode(true);
  turn.className = `turn turn-${role}`;
  turn.querySelector("h2").textContent = role === "user" ? "You" : "Model";
  turn.querySelector("[name=role]").value = role;
  turns.append(turn);
  toEnd();
  return turn;
}

function write(turn, text) {
  contentOf(turn).value = text;
  goingAlong(() => turn.querySelector(".said").replaceChildren(...partsOf(text).map(shownPart)));
}

/** Shows the answer as HTML. It is safe: the service made it, with Markdown's elements only. */
function format(turn, html) {
  const { body } = new DOMParser().parseFromString(html, "text/html");
  const shown = turn.querySelector(".said");
  goingAlong(() => {
    shown.classList.add("said-markdown");
    shown.replaceChildren(...body.childNodes);
  });
}

function shownPart({ isCode, text }) {
  const shown = document.createElement(isCode ? "pre" : "div");
  shown.className = isCode ? "said-code" : "said-text";
  if (isCode) {
    shown.tabIndex = 0;
    shown.ariaLabel = "Code";
  }
  shown.textContent = text;
  return shown;
}

function think(turn, text) {
  if (text === "") return;
  const reasoning = turn.querySelector(".reasoning");
  reasoning.hidden = false;
  reasoning.querySelector("div").textContent = text;
}

/** Shows the call's time and cost, with a link to its record. */
function took(turn, summary, id) {
  const link = document.createElement("a");
  link.href = `/dashboard/interactions/${id}`;
  // In a new tab: leaving this page would lose the conversation.
  link.target = "_blank";
  link.textContent = "Interaction";
  const line = turn.querySelector(".took");
  goingAlong(() => line.replaceChildren(`${summary} `, ...(id === null ? [] : [link])));
}

/** Makes a change, then scrolls to the end unless somebody has scrolled up to read. */
function goingAlong(change) {
  const isAtEnd = turns.scrollHeight - turns.scrollTop - turns.clientHeight < 40;
  change();
  if (isAtEnd) toEnd();
}

function toEnd() {
  turns.scrollTop = turns.scrollHeight;
}

function say(text) {
  problem.textContent = text;
  problem.hidden = text === "";
}

function showBusy(isBusy) {
  send.disabled = isBusy;
  stop.hidden = !isBusy;
  turns.ariaBusy = String(isBusy);
}

/** Takes the code from the page that browsers without scripts get. */
async function showCode() {
  const body = new URLSearchParams(new FormData(talkForm));
  const response = await post("code", body);
  if (!response) return say(unreachable);
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const code = page.getElementById("code");
  if (!code) return say(tooOld);
  byId("code").replaceChildren(...code.children);
  // The common script makes the copy buttons work.
  document.dispatchEvent(new Event("replaced"));
  byId("code").scrollIntoView({ block: "nearest" });
}

function byId(/** @type {string} */ id) {
  return document.getElementById(id);
}

function contentOf(turn) {
  return turn.querySelector("[name=content]");
}

/** The same as `partsOf` in pages/playground/view.tsx. */
function partsOf(/** @type {string} */ text) {
  return text.split(/^```/m).map((part, at) => {
    const isCode = at % 2 === 1;
    return {
      isCode,
      text: (isCode ? part.replace(/^[^\n]*\n?/, "") : part).replace(/^\n|\n$/g, ""),
    };
  }).filter((part) => part.text !== "");
}
