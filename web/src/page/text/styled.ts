/** Styles that depend on data. Set by script: the page's security policy forbids style attributes. */

import type { Attachment } from 'svelte/attachments';

/** Sets properties of an element's style, custom ones too. */
export function styled(properties: Record<string, string>): Attachment<HTMLElement> {
  return (element) => {
    for (const [name, value] of Object.entries(properties)) element.style.setProperty(name, value);
  };
}
