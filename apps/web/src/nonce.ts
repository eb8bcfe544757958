/**
 * Style elements that our own scripts make carry the page's nonce, so that the strict policy lets them through. Every
 * library that makes some (Mantine, CodeMirror) is served by this one place, which has to be imported first.
 */
const nonce = document.querySelector<HTMLElement>("meta[property=csp-nonce]")?.nonce ?? "";
const create = Document.prototype.createElement;

function createWithNonce(this: Document, name: string, options?: ElementCreationOptions): HTMLElement {
  const element = create.call(this, name, options);
  if (nonce !== "" && name.toLowerCase() === "style") element.nonce = nonce;
  return element;
}

// The overloads of createElement only tell which class is made of which name; that stays as it is.
Document.prototype.createElement = createWithNonce as typeof create;
