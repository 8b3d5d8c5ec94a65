/** The entry point, which mounts the page in the document. */

import { mount } from 'svelte';
import Page from './Page.svelte';
import './styles/tokens.css';
import './styles/base.css';
import { language } from './language/language.svelte.ts';
import { theme } from './theme.svelte.ts';

const target = document.getElementById('page');
if (target === null) throw new Error('the document has no element with the id "page"');
language.restore();
theme.restore();
mount(Page, { target });
