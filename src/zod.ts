/**
 * zod as we use it: each schema checks one file, once or now and then. What it would compile for each is work that it never
 * gets back, and code made of text at that.
 */
import { z } from 'zod';

z.config({ jitless: true });

export { z };
