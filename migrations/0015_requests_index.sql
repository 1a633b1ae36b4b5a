-- phase: expand
-- transaction: none
--
-- A call is looked up by the X-Request-ID of its answer or its caller's log. Ids are of any length and
-- only ever compared: a hash takes a third of the room, and a row writes one page of it.
create index concurrently interactions_by_request on interactions using hash (request_id);
