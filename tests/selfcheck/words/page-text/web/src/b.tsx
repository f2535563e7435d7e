// SPDX-License-Identifier: MIT
export const B = () => <p>{n} letters. <b>Their senders were told</b></p>;
