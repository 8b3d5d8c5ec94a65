/** Styles that depend on data, set by script because the content security policy forbids style attributes. */

import type { Attachment } from 'svelte/attachments';

/** Create an attachment that sets CSS properties of an element, including custom properties. */
export function styled(properties: Record<string, string>): Attachment<HTMLElement> {
  return (element) => {
    for (const [name, value] of Object.entries(properties)) element.style.setProperty(name, value);
  };
}
