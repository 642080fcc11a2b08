/** The nonce of this page. Libraries that make style elements have to mark them with it. */
export const nonce = document.querySelector<HTMLMetaElement>('meta[name="nonce"]')?.content ?? ''

/** The library that stops the page behind a dialog from scrolling looks for the nonce under this name. */
export function markStyles(): void {
  Object.assign(globalThis, { __webpack_nonce__: nonce })
}
