BEGIN TRANSACTION;
CREATE TABLE chats (
	id VARCHAR(255) NOT NULL, 
	user_id VARCHAR(255), 
	created_utc BIGINT NOT NULL, 
	updated_utc BIGINT NOT NULL, 
	last_event BIGINT NOT NULL, 
	last_message BIGINT NOT NULL, 
	revision BIGINT NOT NULL, 
	metadata_json TEXT NOT NULL, 
	CONSTRAINT chats_pk PRIMARY KEY (id)
);
INSERT INTO "chats" VALUES('whole',NULL,1795404583993,1795404584175,17,4,8,'{}');
INSERT INTO "chats" VALUES('broken',NULL,1795404584326,1795404584357,13,1,2,'{}');
CREATE TABLE conversation_locks (
	"key" VARCHAR(255) NOT NULL, 
	owner VARCHAR(255) NOT NULL, 
	lease_utc BIGINT NOT NULL, 
	CONSTRAINT conversation_locks_pk PRIMARY KEY ("key")
);
CREATE TABLE conversations (
	"key" VARCHAR(255) NOT NULL, 
	updated_utc BIGINT NOT NULL, 
	conversation_json TEXT NOT NULL, 
	CONSTRAINT conversations_pk PRIMARY KEY ("key")
);
CREATE TABLE events (
	chat_id VARCHAR(255) NOT NULL, 
	sequence_number BIGINT NOT NULL, 
	kind TEXT NOT NULL, 
	timestamp_utc BIGINT NOT NULL, 
	run_id VARCHAR(255), 
	event_json TEXT NOT NULL, 
	CONSTRAINT events_pk PRIMARY KEY (chat_id, sequence_number), 
	CONSTRAINT events_chat_fk FOREIGN KEY(chat_id) REFERENCES chats (id) ON DELETE CASCADE
);
INSERT INTO "events" VALUES('whole',1,'text',1795404584035,'af1455b56e504644bb4e82cb7765c1a6','{"kind":"text","runId":"af1455b56e504644bb4e82cb7765c1a6","role":"user","messageId":"u1","delta":"Note 1 and 2.","done":true}');
INSERT INTO "events" VALUES('whole',2,'run',1795404584035,'af1455b56e504644bb4e82cb7765c1a6','{"kind":"run","runId":"af1455b56e504644bb4e82cb7765c1a6","status":"started"}');
INSERT INTO "events" VALUES('whole',3,'text',1795404584082,'af1455b56e504644bb4e82cb7765c1a6','{"kind":"text","runId":"af1455b56e504644bb4e82cb7765c1a6","generationId":"g1","role":"assistant","messageId":"g1.0","delta":"Let me see. "}');
INSERT INTO "events" VALUES('whole',4,'tools_call_update',1795404584082,'af1455b56e504644bb4e82cb7765c1a6','{"kind":"tools_call_update","runId":"af1455b56e504644bb4e82cb7765c1a6","generationId":"g1","role":"assistant","messageId":"g1.calls","toolCallUpdates":[{"index":0,"functionName":"note","toolCallId":"call_g1_0","functionArgs":"{\"n\": 1}"}]}');
INSERT INTO "events" VALUES('whole',5,'tools_call',1795404584082,'af1455b56e504644bb4e82cb7765c1a6','{"kind":"tools_call","runId":"af1455b56e504644bb4e82cb7765c1a6","generationId":"g1","role":"assistant","messageId":"g1.calls","toolCalls":[{"toolCallId":"call_g1_0","name":"note","arguments":{"n":1},"index":0}]}');
INSERT INTO "events" VALUES('whole',6,'text',1795404584082,'af1455b56e504644bb4e82cb7765c1a6','{"kind":"text","runId":"af1455b56e504644bb4e82cb7765c1a6","generationId":"g1","role":"assistant","messageId":"g1.0","delta":" And "}');
INSERT INTO "events" VALUES('whole',7,'tools_call_update',1795404584125,'af1455b56e504644bb4e82cb7765c1a6','{"kind":"tools_call_update","runId":"af1455b56e504644bb4e82cb7765c1a6","generationId":"g1","role":"assistant","messageId":"g1.calls","toolCallUpdates":[{"index":1,"functionName":"note","toolCallId":"call_g1_1","functionArgs":"{\"n\": 2}"}]}');
INSERT INTO "events" VALUES('whole',8,'tools_call',1795404584125,'af1455b56e504644bb4e82cb7765c1a6','{"kind":"tools_call","runId":"af1455b56e504644bb4e82cb7765c1a6","generationId":"g1","role":"assistant","messageId":"g1.calls","toolCalls":[{"toolCallId":"call_g1_1","name":"note","arguments":{"n":2},"index":1}]}');
INSERT INTO "events" VALUES('whole',9,'text',1795404584125,'af1455b56e504644bb4e82cb7765c1a6','{"kind":"text","runId":"af1455b56e504644bb4e82cb7765c1a6","generationId":"g1","role":"assistant","messageId":"g1.0","delta":" One moment."}');
INSERT INTO "events" VALUES('whole',10,'tool_state',1795404584135,'af1455b56e504644bb4e82cb7765c1a6','{"kind":"tool_state","runId":"af1455b56e504644bb4e82cb7765c1a6","generationId":"g1","messageId":"g1.calls","toolCallId":"call_g1_0","state":"running"}');
INSERT INTO "events" VALUES('whole',11,'tool_state',1795404584135,'af1455b56e504644bb4e82cb7765c1a6','{"kind":"tool_state","runId":"af1455b56e504644bb4e82cb7765c1a6","generationId":"g1","messageId":"g1.calls","toolCallId":"call_g1_1","state":"running"}');
INSERT INTO "events" VALUES('whole',12,'tool_result',1795404584135,'af1455b56e504644bb4e82cb7765c1a6','{"kind":"tool_result","runId":"af1455b56e504644bb4e82cb7765c1a6","generationId":"g1","role":"tool","messageId":"g1.calls_result_call_g1_0","toolCallId":"call_g1_0","done":true,"name":"note","result":"noted 1","isError":false,"duration":7.200600020951242e-05}');
INSERT INTO "events" VALUES('whole',13,'tool_result',1795404584142,'af1455b56e504644bb4e82cb7765c1a6','{"kind":"tool_result","runId":"af1455b56e504644bb4e82cb7765c1a6","generationId":"g1","role":"tool","messageId":"g1.calls_result_call_g1_1","toolCallId":"call_g1_1","done":true,"name":"note","result":"noted 2","isError":false,"duration":1.3680999927601079e-05}');
INSERT INTO "events" VALUES('whole',14,'tools_aggregate',1795404584153,'af1455b56e504644bb4e82cb7765c1a6','{"kind":"tools_aggregate","runId":"af1455b56e504644bb4e82cb7765c1a6","generationId":"g1","role":"assistant","messageId":"g1.calls","toolCalls":[{"toolCallId":"call_g1_0","name":"note","arguments":{"n":1},"index":0,"raw":"<note>{\"n\": 1}</note>"},{"toolCallId":"call_g1_1","name":"note","arguments":{"n":2},"index":1,"raw":"<note>{\"n\": 2}</note>"}],"toolResults":[{"toolCallId":"call_g1_0","name":"note","result":"noted 1","isError":false,"duration":7.200600020951242e-05},{"toolCallId":"call_g1_1","name":"note","result":"noted 2","isError":false,"duration":1.3680999927601079e-05}],"done":true}');
INSERT INTO "events" VALUES('whole',15,'text',1795404584153,'af1455b56e504644bb4e82cb7765c1a6','{"kind":"text","runId":"af1455b56e504644bb4e82cb7765c1a6","generationId":"g1","role":"assistant","messageId":"g1.0","delta":"","done":true}');
INSERT INTO "events" VALUES('whole',16,'text',1795404584165,'af1455b56e504644bb4e82cb7765c1a6','{"kind":"text","runId":"af1455b56e504644bb4e82cb7765c1a6","generationId":"g2","role":"assistant","messageId":"g2.0","delta":"Both are noted.","done":true}');
INSERT INTO "events" VALUES('whole',17,'run',1795404584175,'af1455b56e504644bb4e82cb7765c1a6','{"kind":"run","runId":"af1455b56e504644bb4e82cb7765c1a6","status":"finished","stopReason":"completed"}');
INSERT INTO "events" VALUES('broken',1,'run',1795404584357,'r','{"kind":"run","runId":"r","status":"started"}');
INSERT INTO "events" VALUES('broken',2,'text',1795404584357,'r','{"kind":"text","runId":"r","generationId":"g9","role":"assistant","messageId":"g9.0","delta":"Let me see. "}');
INSERT INTO "events" VALUES('broken',3,'tools_call_update',1795404584357,'r','{"kind":"tools_call_update","runId":"r","generationId":"g9","role":"assistant","messageId":"g9.calls","toolCallUpdates":[{"index":0,"functionName":"note","toolCallId":"call_g9_0"}]}');
INSERT INTO "events" VALUES('broken',4,'tools_call_update',1795404584357,'r','{"kind":"tools_call_update","runId":"r","generationId":"g9","role":"assistant","messageId":"g9.calls","toolCallUpdates":[{"index":0,"functionArgs":"{\"n\": 1}"}]}');
INSERT INTO "events" VALUES('broken',5,'tools_call',1795404584357,'r','{"kind":"tools_call","runId":"r","generationId":"g9","role":"assistant","messageId":"g9.calls","toolCalls":[{"toolCallId":"call_g9_0","name":"note","arguments":{"n":1},"index":0}]}');
INSERT INTO "events" VALUES('broken',6,'text',1795404584357,'r','{"kind":"text","runId":"r","generationId":"g9","role":"assistant","messageId":"g9.0","delta":" And "}');
INSERT INTO "events" VALUES('broken',7,'tool_state',1795404584357,'r','{"kind":"tool_state","runId":"r","generationId":"g9","messageId":"g9.calls","toolCallId":"call_g9_0","state":"running"}');
INSERT INTO "events" VALUES('broken',8,'tool_result',1795404584357,'r','{"kind":"tool_result","runId":"r","generationId":"g9","role":"tool","messageId":"g9.calls_result_call_g9_0","toolCallId":"call_g9_0","done":true,"name":"note","result":"noted 1","isError":false,"duration":4.162200002610916e-05}');
INSERT INTO "events" VALUES('broken',9,'tools_call_update',1795404584357,'r','{"kind":"tools_call_update","runId":"r","generationId":"g9","role":"assistant","messageId":"g9.calls","toolCallUpdates":[{"index":1,"functionName":"note","toolCallId":"call_g9_1"}]}');
INSERT INTO "events" VALUES('broken',10,'tools_call_update',1795404584357,'r','{"kind":"tools_call_update","runId":"r","generationId":"g9","role":"assistant","messageId":"g9.calls","toolCallUpdates":[{"index":1,"functionArgs":"{\"n\": 2}"}]}');
INSERT INTO "events" VALUES('broken',11,'tools_call',1795404584357,'r','{"kind":"tools_call","runId":"r","generationId":"g9","role":"assistant","messageId":"g9.calls","toolCalls":[{"toolCallId":"call_g9_1","name":"note","arguments":{"n":2},"index":1}]}');
INSERT INTO "events" VALUES('broken',12,'text',1795404584357,'r','{"kind":"text","runId":"r","generationId":"g9","role":"assistant","messageId":"g9.0","delta":" One moment."}');
INSERT INTO "events" VALUES('broken',13,'tool_state',1795404584357,'r','{"kind":"tool_state","runId":"r","generationId":"g9","messageId":"g9.calls","toolCallId":"call_g9_1","state":"running"}');
CREATE TABLE messages (
	id VARCHAR(255) NOT NULL, 
	chat_id VARCHAR(255) NOT NULL, 
	role TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	timestamp_utc BIGINT NOT NULL, 
	sequence_number BIGINT NOT NULL, 
	message_json TEXT NOT NULL, 
	run_id VARCHAR(255), 
	generation_id VARCHAR(255), 
	CONSTRAINT messages_pk PRIMARY KEY (chat_id, id), 
	CONSTRAINT messages_order UNIQUE (chat_id, sequence_number), 
	CONSTRAINT messages_chat_fk FOREIGN KEY(chat_id) REFERENCES chats (id) ON DELETE CASCADE
);
INSERT INTO "messages" VALUES('u1','whole','user','text',1795404584035,1,'{"kind":"text","role":"user","messageId":"u1","text":"Note 1 and 2."}','af1455b56e504644bb4e82cb7765c1a6',NULL);
INSERT INTO "messages" VALUES('g1.0','whole','assistant','text',1795404584153,2,'{"kind":"text","role":"assistant","messageId":"g1.0","chatId":"whole","runId":"af1455b56e504644bb4e82cb7765c1a6","generationId":"g1","text":"Let me see.  And  One moment."}','af1455b56e504644bb4e82cb7765c1a6','g1');
INSERT INTO "messages" VALUES('g1.calls','whole','assistant','tools_aggregate',1795404584153,3,'{"kind":"tools_aggregate","role":"assistant","messageId":"g1.calls","chatId":"whole","runId":"af1455b56e504644bb4e82cb7765c1a6","generationId":"g1","toolCalls":[{"toolCallId":"call_g1_0","name":"note","arguments":{"n":1},"index":0,"raw":"<note>{\"n\": 1}</note>"},{"toolCallId":"call_g1_1","name":"note","arguments":{"n":2},"index":1,"raw":"<note>{\"n\": 2}</note>"}],"toolResults":[{"toolCallId":"call_g1_0","name":"note","result":"noted 1","isError":false,"duration":0.00007200600020951242},{"toolCallId":"call_g1_1","name":"note","result":"noted 2","isError":false,"duration":0.000013680999927601079}]}','af1455b56e504644bb4e82cb7765c1a6','g1');
INSERT INTO "messages" VALUES('g2.0','whole','assistant','text',1795404584165,4,'{"kind":"text","role":"assistant","messageId":"g2.0","chatId":"whole","runId":"af1455b56e504644bb4e82cb7765c1a6","generationId":"g2","text":"Both are noted."}','af1455b56e504644bb4e82cb7765c1a6','g2');
INSERT INTO "messages" VALUES('u2','broken','user','text',1795404584339,1,'{"kind":"text","role":"user","messageId":"u2","text":"Note 1 and 2."}','r',NULL);
CREATE TABLE pending_results (
	chat_id VARCHAR(255) NOT NULL, 
	"key" VARCHAR(255) NOT NULL, 
	kind TEXT NOT NULL, 
	status TEXT NOT NULL, 
	run_id VARCHAR(255), 
	call_id TEXT NOT NULL, 
	call_json TEXT NOT NULL, 
	question TEXT, 
	schema_json TEXT, 
	note TEXT, 
	result_json TEXT, 
	created_utc BIGINT NOT NULL, 
	resolved_utc BIGINT, 
	CONSTRAINT pending_results_pk PRIMARY KEY (chat_id, "key"), 
	CONSTRAINT pending_results_chat_fk FOREIGN KEY(chat_id) REFERENCES chats (id) ON DELETE CASCADE
);
CREATE TABLE runs (
	id VARCHAR(255) NOT NULL, 
	chat_id VARCHAR(255) NOT NULL, 
	user_id VARCHAR(255), 
	owner VARCHAR(255) NOT NULL, 
	status TEXT NOT NULL, 
	stop_requested BOOLEAN NOT NULL, 
	stop_reason TEXT, 
	error TEXT, 
	lease_utc BIGINT NOT NULL, 
	started_utc BIGINT NOT NULL, 
	finished_utc BIGINT, 
	first_event BIGINT NOT NULL, 
	CONSTRAINT runs_pk PRIMARY KEY (id), 
	CONSTRAINT runs_chat_fk FOREIGN KEY(chat_id) REFERENCES chats (id) ON DELETE CASCADE
);
INSERT INTO "runs" VALUES('af1455b56e504644bb4e82cb7765c1a6','whole',NULL,'cd2215447683457ca56e0f205fce9580','finished',0,'completed',NULL,1795404614035,1795404584035,1795404584175,1);
INSERT INTO "runs" VALUES('r','broken',NULL,'gone','running',0,NULL,NULL,1795404585339,1795404584339,NULL,1);
CREATE TABLE store_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT store_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "store_version" VALUES('0001');
CREATE TABLE tool_calls (
	id VARCHAR(255) NOT NULL, 
	chat_id VARCHAR(255) NOT NULL, 
	run_id VARCHAR(255), 
	generation_id VARCHAR(255), 
	call_id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	arguments_json TEXT NOT NULL, 
	status TEXT NOT NULL, 
	attempt INTEGER NOT NULL, 
	started_utc BIGINT NOT NULL, 
	finished_utc BIGINT, 
	result_json TEXT, 
	CONSTRAINT tool_calls_pk PRIMARY KEY (id), 
	CONSTRAINT tool_calls_chat_fk FOREIGN KEY(chat_id) REFERENCES chats (id) ON DELETE CASCADE
);
INSERT INTO "tool_calls" VALUES('b462958a49c34a05b5d4aa837fa73fd0','whole','af1455b56e504644bb4e82cb7765c1a6','g1','call_g1_0','note','{"n":1}','done',1,1795404584082,1795404584135,'{"kind":"tool_result","role":"tool","toolResults":[{"toolCallId":"call_g1_0","name":"note","result":"noted 1","isError":false,"duration":0.00007200600020951242}]}');
INSERT INTO "tool_calls" VALUES('709697b39acc4fa69fc9a10f8f55c4e4','whole','af1455b56e504644bb4e82cb7765c1a6','g1','call_g1_1','note','{"n":2}','done',1,1795404584125,1795404584142,'{"kind":"tool_result","role":"tool","toolResults":[{"toolCallId":"call_g1_1","name":"note","result":"noted 2","isError":false,"duration":0.000013680999927601079}]}');
CREATE INDEX chats_of_user ON chats (user_id, created_utc);
CREATE INDEX chats_by_age ON chats (created_utc);
CREATE INDEX chats_by_use ON chats (updated_utc);
CREATE INDEX runs_of_chat ON runs (chat_id);
CREATE UNIQUE INDEX runs_one_running ON runs (chat_id) WHERE status = 'running';
CREATE INDEX tool_calls_of_run ON tool_calls (chat_id, run_id);
CREATE INDEX conversations_by_use ON conversations (updated_utc);
COMMIT;
