-- phase: expand
--
-- What a key says for the calls of a program that can't say it itself (docs/keys-and-credit.md). JSON:
-- agent, app, default_model, models (name → model), expected_output_tokens; null: nothing.
alter table api_keys add column defaults text;
