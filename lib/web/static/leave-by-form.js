// Sends the form that leads to an identity provider, so that nobody has to press its button.

document.querySelector('form[data-leave]')?.requestSubmit();
