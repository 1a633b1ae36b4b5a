/**
 * Lets Scalar live under `Content-Security-Policy: default-src 'self'`, which forbids style
 * elements, style attributes in markup and eval, but not style sheets and styles set by script.
 */
(() => {
  // Its copy of zod tries eval unless told that there is none.
  globalThis.__zod_globalConfig = { jitless: true };

  const sheets = new WeakMap();

  /** Stands in for a style element: what is put into it becomes a sheet of the document. */
  class LateStyle extends HTMLElement {
    connectedCallback() {
      this.observer ??= new MutationObserver(() => apply(this));
      this.observer.observe(this, { childList: true, characterData: true, subtree: true });
      apply(this);
    }

    disconnectedCallback() {
      this.observer?.disconnect();
      apply(this);
    }
  }

  function apply(element) {
    let sheet = sheets.get(element);
    if (sheet === undefined) {
      sheet = new CSSStyleSheet();
      sheets.set(element, sheet);
      document.adoptedStyleSheets.push(sheet);
    }
    sheet.replaceSync(element.isConnected ? element.textContent ?? "" : "");
  }

  customElements.define("late-style", LateStyle);
  const createElement = Document.prototype.createElement;
  Document.prototype.createElement = function (name, options) {
    const style = String(name).toLowerCase() === "style";
    return createElement.call(this, style ? "late-style" : name, options);
  };

  const setAttribute = Element.prototype.setAttribute;
  Element.prototype.setAttribute = function (name, value) {
    if (name === "style" && this.style) this.style.cssText = value;
    else setAttribute.call(this, name, value);
  };

  // Markup that is set at once: its style attributes are put aside, then set by script.
  const markup = Object.getOwnPropertyDescriptor(Element.prototype, "innerHTML");
  Object.defineProperty(Element.prototype, "innerHTML", {
    ...markup,
    set(html) {
      markup.set.call(
        this,
        String(html ?? "").replace(/(<[^<>]*?\s)style=/g, "$1data-late-style="),
      );
      const root = this instanceof HTMLTemplateElement ? this.content : this;
      for (const element of root.querySelectorAll("[data-late-style]")) {
        element.style.cssText = element.getAttribute("data-late-style");
        element.removeAttribute("data-late-style");
      }
    },
  });
})();
