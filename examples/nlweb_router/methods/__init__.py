"""The handlers that `tools.xml` names, in the shape of NLWeb's own.

A handler is made of the parameters that the model filled in and of the request, and answers in
messages:

    class Hello:
        def __init__(self, params, handler):
            self.params, self.handler = params, handler

        async def do(self):
            name = self.params.get("name", "you")
            await self.handler.send_message({"message_type": "hello", "text": f"Hello, {name}."})

Each message here has a ``text`` for people, and the facts beside it for programs. What is not found
is a message too (``no_results``), and whatever the parameters are, there is an answer.
"""
