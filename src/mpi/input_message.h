#pragma once
/// Inputs, and batches of text from them, on the way from one rank to another.

#include "io/text/batch.h"
#include "io/text/input_list.h"
#include "mpi/process_group.h"

namespace warpmer::mpi {

/// Appends an input to a message.
void put_file(Message& message, const io::InputFile& file);
io::InputFile take_file(MessageReader& message);

/// Appends a batch of pieces to a message.
void put_batch(Message& message, const io::Batch& batch);
/// Takes the next batch of a message, as if it had been read here. The bytes of its file that it accounts for
/// stay with the rank that has read it.
void take_batch(MessageReader& message, io::Batch& batch);

}  // namespace warpmer::mpi
