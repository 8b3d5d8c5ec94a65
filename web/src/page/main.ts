import { mount } from 'svelte';
import Page from './Page.svelte';

const target = document.querySelector('#page');
if (!target) throw new Error('index.html has no element with the id "page"');
mount(Page, { target });
