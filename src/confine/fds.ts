/** Descriptors that bubblewrap gets from this module; a caller's own begin at 8. */
export const argsFd = 3;
export const seccompFd = 4;
export const resolverFd = 5;
export const statusFd = 6;
export const networkFd = 7;
