/** Questions of the demo's customers; `#` is a placeholder for an order's number. */
export const questions: readonly string[] = [
  "Where is my order #? It should have been here on Monday.",
  "Can I return the blue jacket of order # if I have worn it once?",
  "Which of your tents keeps dry in a storm and weighs less than two kilograms?",
  "My invoice for order # shows the wrong company name. How do I change it?",
  "Do you ship to Norway, and what does it cost?",
  "The left headphone of order # stopped working after a week.",
  "Summarise last week's reviews of the trail shoes in three sentences.",
  "Is the coffee grinder loud? I have a baby sleeping next door.",
  "Classify this message: 'I want my money back, now.'",
  "Please cancel order #, I ordered twice by accident.",
];

/** Answers in the same order. */
export const answers: readonly string[] = [
  "Order # left our warehouse on Friday and is with the carrier; it should arrive tomorrow.",
  "Yes: within 30 days, as long as the tags of order # are still there. I can send you a label.",
  "The Ridge 2 keeps dry at 3,000 mm and weighs 1.8 kg; it is the one I would take.",
  "Reply with the right name and I correct the invoice of order # today.",
  "Yes, we ship to Norway for $14.90; it takes four to six working days.",
  "I am sorry. A new pair for order # is on its way; keep the old one until it arrives.",
  "Buyers praise the grip and the light sole. Some find them narrow. Two report worn laces.",
  "It is: about 75 dB for twenty seconds. The hand grinder is the quiet choice.",
  "refund_request",
  "Order # is cancelled; the money is back on your card in three days.",
];
