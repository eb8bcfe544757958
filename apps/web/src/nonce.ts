/**
 * Gives the page's nonce to style elements created by scripts, which the content security policy requires. It covers
 * all libraries that create some (Mantine, CodeMirror), so it must be imported first.
 */
const nonce = document.querySelector<HTMLElement>("meta[property=csp-nonce]")?.nonce ?? "";
const create = Document.prototype.createElement;

function createWithNonce(this: Document, name: string, options?: ElementCreationOptions): HTMLElement {
  const element = create.call(this, name, options);
  if (nonce !== "" && name.toLowerCase() === "style") element.nonce = nonce;
  return element;
}

// The overloads of `createElement` only map names to classes, which does not change.
Document.prototype.createElement = createWithNonce as typeof create;
